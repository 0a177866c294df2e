from rich.console import Console

from sporadic.datasets.prepare.ledger import Ledger


def a_ledger() -> Ledger:
    ledger = Ledger()
    ledger.add("patients", rows=None, series=100, published="46,520")
    ledger.add("one admission", rows=None, series=90)
    ledger.add("records", rows=1234567, series=90, note="all of them")
    ledger.add("not missing", rows=1234000, series=88)
    ledger.add("doses spread out", rows=1234500, series=88)
    return ledger


def test_before_is_what_the_last_step_left():
    records = a_ledger().to_json()
    assert [(each["rows_before"], each["rows_after"]) for each in records] == [
        (None, None),
        (None, None),
        (None, 1234567),
        (1234567, 1234000),
        (1234000, 1234500),
    ]
    assert [(each["series_before"], each["series_after"]) for each in records] == [
        (None, 100),
        (100, 90),
        (90, 90),
        (90, 88),
        (88, 88),
    ]
    assert records[0]["published"] == "46,520"
    assert records[2]["note"] == "all of them"


def test_rows_that_were_not_counted_do_not_hide_those_before():
    ledger = a_ledger()
    ledger.add("not counted", rows=None, series=88)
    ledger.add("counted again", rows=1000, series=88)
    assert ledger.to_json()[-1]["rows_before"] == 1234500


def test_the_table_shows_what_was_lost_and_gained():
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(a_ledger().table())
    lines = {line.split("  ")[0]: line.split() for line in console.export_text().splitlines()}
    assert lines["not missing"][2:] == ["1,234,000", "−567", "88", "−2"]
    assert lines["doses spread out"][3:] == ["1,234,500", "+500", "88"]
    assert lines["patients"][1:] == ["100", "46,520"]
