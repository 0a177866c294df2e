"""The table of variables: the packaged one is what the paper prints, and one's own is checked line by line."""

from collections import Counter
from pathlib import Path

import pytest

from sporadic.datasets.prepare.mimic3.variables import read_variables
from sporadic.errors import FileError

PAGE = Path(__file__).parents[3] / "docs" / "mimic3.md"
GROUPS = {"lab": 38, "input": 31, "output": 14, "prescription": 9}
RULES = {"lab": "mean", "input": "sum", "output": "sum", "prescription": "sum"}


def test_the_paper_prints_92_variables():
    variables = read_variables()
    assert Counter(variable.group for variable in variables) == GROUPS
    assert all(variable.printed and variable.why for variable in variables)
    assert all(variable.aggregation == RULES[variable.group] for variable in variables)
    assert [variable.name for variable in variables] == sorted({variable.name for variable in variables})


def test_two_printed_names_are_shared_and_told_apart():
    shared = [name for name, n in Counter(v.printed_name for v in read_variables(unprinted=True)).items() if n > 1]
    assert sorted(shared) == ["Magnesium Sulfate", "Potassium Chloride"]
    assert "Potassium Chloride (input)" in {variable.name for variable in read_variables()}


def test_the_unprinted_four_make_96():
    extra = {v.name for v in read_variables(unprinted=True)} - {v.name for v in read_variables()}
    assert extra == {"Creatinine", "Magnesium Sulfate (input)", "Ostomy (output)", "Pantoprazole"}


def test_the_page_shows_the_table():
    page = PAGE.read_text(encoding="utf-8")
    for variable in read_variables(unprinted=True):
        start = f"| {variable.name} | {variable.source} | {', '.join(variable.items)} | {variable.unit} | "
        end = f" | {variable.aggregation} | {variable.why} |\n"
        assert any(line.startswith(start) and line.endswith(end) for line in page.splitlines(keepends=True)), start


def own(folder: Path, *lines: str, header: str = "name,source,items,unit,conversions,aggregation") -> Path:
    path = folder / "own.csv"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def test_conversions_read_factor_and_offset(tmp_path):
    (variable,) = read_variables(own(tmp_path, "T,chartevents,1;2,C, F:0.5:-16 ; blank:2,mean"))
    assert variable.conversions == {"c": (1.0, 0.0), "f": (0.5, -16.0), "": (2.0, 0.0)}
    assert variable.items == ("1", "2")


@pytest.mark.parametrize(("lines", "words"), [
    (["A,charts,1,mg,,mean"], "line 2 .* source is 'charts', not one of labevents"),
    (["A,labevents,1,mg,,median"], "aggregation is 'median'"),
    (["A,labevents,,mg,,mean"], "items is empty"),
    ([",labevents,1,mg,,mean"], "name is empty"),
    (["A,labevents,x1,mg,,mean"], "'x1' is no number"),
    (["A,labevents,1,mg,g:much,mean"], "'g:much' is not unit:factor"),
    (["A,labevents,1,mg,g,mean"], "'g' is not unit:factor"),
    (["A,labevents,1,mg,,mean", "A,labevents,2,mg,,mean"], "line 3 .* 'A' is not the first"),
    (["A,labevents,1,mg,,mean", "B,labevents,2;1,mg,,mean"], "item '1' belongs to 'A' already"),
    ([], "has no rows"),
])  # fmt: skip
def test_mistakes_are_named_with_their_line(tmp_path, lines, words):
    with pytest.raises(FileError, match=words):
        read_variables(own(tmp_path, *lines))


def test_a_table_that_is_none(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        read_variables(tmp_path / "none.csv")
    with pytest.raises(FileError, match="has no column 'items'"):
        read_variables(own(tmp_path, header="name,source,unit,aggregation"))
    (tmp_path / "own.csv").write_bytes(b"name,source\n\xe9,1\n")
    with pytest.raises(FileError, match="no CSV file in UTF-8"):
        read_variables(tmp_path / "own.csv")
