"""The report, read by a parser: every tag closed, every text escaped, every number there, nothing fetched."""

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from sporadic.errors import OptionError
from sporadic.evaluation.scores import Score
from sporadic.likelihoods.levels import LevelScores
from sporadic.report import COMMANDS, write_report
from sporadic.training import Epoch

VOID = {"meta", "img", "br", "link", "hr", "input"}
NASTY = "<script>alert('x')</script> & \"co\""


class Reader(HTMLParser):
    """Collects text, tags and tables, and insists on closing tags in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.bold: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data
        if "strong" in self.open:
            self.bold.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())

    def every(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def score(seed: int, spread: float, variables: tuple[str, ...] = ("bili", "albumin")) -> Score:
    """Forecasts with errors of some spread, of 30 series with five values of each of two variables."""
    rng = np.random.default_rng(seed)
    n = 300
    error = spread * rng.normal(size=n) * np.where(np.arange(n) % 2, 1.0, 2_000.0)
    return Score(
        series=np.arange(n) // 10,
        variable=np.arange(n) % 2,
        horizon=np.ones(n, dtype=np.int64),
        scalar_nll=spread + 0.1 * rng.normal(size=n),
        scalar_crps=np.full(n, spread / 2),
        pit=rng.uniform(size=n),
        error=error,
        unit=np.where(np.arange(n) % 2, 2.0, 4_000.0),
        ids=np.arange(30),
        variables=variables,
    )


SCORES = {"ours": score(0, 1.0), "naive": score(1, 1.5)}


def of_levels(seed: int, likelihoods: tuple[str, ...] = ("gaussian", "binary")) -> Score:
    """The same, but the second variable has levels: two, or if it is categorical more."""
    rng = np.random.default_rng(seed)
    second, two = np.arange(300) % 2 == 1, "binary" in likelihoods
    yes, chance = rng.integers(0, 2, 300).astype(float), rng.uniform(size=300)
    parts = (chance**2, (chance > 0.4).astype(float), *((chance, yes) if two else (np.full(300, np.nan),) * 2))
    plain = score(seed, 1.0)
    pit = plain.pit if two else np.where(second, np.nan, plain.pit)
    levels = LevelScores(*(np.where(second, part, np.nan) for part in parts))
    return replace(plain, likelihoods=likelihoods, levels=levels, pit=pit)


def read(path: Path, **changes: Any) -> Reader:
    options: dict[str, Any] = {"title": "Title", "summary": "What.\n\nHow.", "scores": SCORES, "figures": {}}
    return Reader(write_report(path, **(options | changes)).read_text(encoding="utf-8"))


def drawn() -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([0, 1])
    return figure


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.html"


def test_scores_stand_beside_each_other_and_the_best_are_bold(path: Path) -> None:
    page = read(path)
    head, ours, naive = page.tables[0]
    assert head == ["", "nll", "mse", "crps", "inside 50\u00a0%", "inside 90\u00a0%", "inside 95\u00a0%"]
    for row, (name, each) in zip((ours, naive), SCORES.items(), strict=True):
        assert row[:4] == [name, *(f"{number:.3f}" for number in (each.nll, each.mse, each.crps))]
        assert row[4:] == [f"{100 * share:.0f}\u00a0%" for share in each.coverage.values()]
    assert page.bold[:3] == ours[1:4]  # lower is better


def test_a_low_coverage_is_not_better_than_a_right_one(path: Path) -> None:
    never = replace(SCORES["ours"], pit=np.zeros(300))
    right = replace(SCORES["ours"], pit=(np.arange(300) + 0.5) / 300)
    always = replace(SCORES["ours"], pit=np.full(300, 0.5))
    read(path, scores={"never": never, "right": right, "always": always})
    rows = re.findall(r"<tr.*</tr>", path.read_text(encoding="utf-8"))
    assert [row.count("<strong>") for row in rows[1:4]] == [3, 6, 3]  # all share the same errors


def test_the_margin_over_each_other_forecaster_is_told_with_its_error(path: Path) -> None:
    difference, error = SCORES["ours"].difference(SCORES["naive"])
    text = read(path, series="patients").text
    assert f"ours is {-difference:.3f} ± {error:.3f} nats per value ahead of naive." in text
    assert "luck" not in text
    assert "300 values of 30 patients were forecast" in text
    turned = dict(reversed(SCORES.items()))
    assert (
        f"naive is {-difference:.3f} ± {error:.3f} nats per value behind ours."
        in read(path, scores=turned, force=True).text
    )
    again = {"one": score(0, 1.0), "two": score(2, 1.0)}
    assert "within two standard errors: it may be luck" in read(path, scores=again, force=True).text


def test_errors_of_each_variable_are_in_original_units(path: Path) -> None:
    page = read(path, units={"albumin": "g/dl"})
    groups, head, bili, albumin = page.tables[1]
    assert groups == ["", "MAE", "RMSE", ""]
    assert head == ["", "unit", "values", "ours", "naive", "ours", "naive", "inside 95\u00a0%"]
    errors = SCORES["ours"].error[0::2], SCORES["ours"].error[1::2]
    assert bili[:4] == ["bili", "", "150", f"{np.abs(errors[0]).mean():,.0f}"]
    assert albumin[:4] == ["albumin", "g/dl", "150", f"{np.abs(errors[1]).mean():.3f}"]
    assert albumin[5] == f"{np.sqrt((errors[1] ** 2).mean()):.2f}"  # three digits that count


def test_levels_have_a_table_and_densities_and_probabilities_are_told_apart(path: Path) -> None:
    scores = {"ours": of_levels(0), "naive": of_levels(1)}
    page = read(path, scores=scores)
    assert "Densities and probabilities are not to be averaged" in page.text
    _, by_likelihood, numbers, levels, *_ = page.tables
    parts = [each.by("likelihood") for each in scores.values()]
    assert by_likelihood == [
        ["likelihood", "values", "ours", "naive"],
        *([name, "150", *(f"{part[name].nll:.3f}" for part in parts)] for name in ("gaussian", "binary")),
    ]
    assert [row[0] for row in numbers[2:]] == ["bili"]
    assert levels[0] == ["", "Brier", "accuracy", "AUROC"]
    assert levels[1] == ["", "values", *["ours", "naive"] * 3]
    binary = [part["binary"] for part in parts]
    shown = [f"{b.brier:.3f}" for b in binary] + [f"{100 * b.accuracy:.0f}\u00a0%" for b in binary]
    assert levels[2:] == [["albumin", "150", *shown, *(f"{b.auroc:.3f}" for b in binary)]]
    highest = max(binary, key=lambda part: part.accuracy)
    assert f"{100 * highest.accuracy:.0f}\u00a0%" in page.bold
    assert "Right: the probabilities that variables with two levels were given" in page.text
    assert "Brier score" in page.text


def test_without_levels_nothing_is_said_of_them(path: Path) -> None:
    page = read(path)
    for word in ("Brier", "AUROC", "Densities", "likelihood values"):
        assert word not in page.text


def test_levels_without_an_order_have_neither_an_auroc_nor_intervals(path: Path) -> None:
    page = read(path, scores={"ours": of_levels(0, ("gaussian", "categorical"))})
    assert page.tables[3][0] == ["", "Brier", "accuracy"]
    assert "150 values are left out" in page.text
    only = of_levels(0, ("categorical", "categorical")).by("variable")["albumin"]
    alone = read(path, scores={"ours": only}, force=True)
    assert "levels without an order, hence no intervals" in alone.text
    assert not alone.every("img")
    assert alone.tables[0][1][4:] == ["–"] * 3


def test_figures_are_inside_with_their_captions(path: Path) -> None:
    page = read(path, figures={"Patient 7": drawn(), "Patient 8": drawn()})
    images = page.every("img")
    assert [image["alt"] for image in images[:2]] == ["Patient 7", "Patient 8"]
    assert len(images) == 3  # and the calibration of the first forecaster
    for image in images:
        kind, _, data = (image["src"] or "").partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")
    assert "Patient 7" in page.text
    assert "Calibration of ours" in page.text


def test_facts_history_and_settings_are_shown_if_there_are_any(path: Path) -> None:
    bare = read(path)
    assert "How it was trained" not in bare.text
    assert "Examples" not in bare.text
    history = [Epoch(i, 1.0, 1.0, 0.1, 1.0 / i, 1.0, 2.0) for i in (1, 2, 3)]
    page = read(path, history=history, parameters={"hidden_size": 50, "flow": None}, facts={"visits": 1945}, force=True)
    assert "3 epochs, 6 s." in page.text
    assert "visits1,945" in page.text
    assert page.tables[2][1:] == [["hidden_size", "50"], ["flow", "None"]]
    assert len(page.every("img")) == len(bare.every("img")) + 1


def test_it_says_what_to_type(path: Path) -> None:
    page = read(path)
    assert len(COMMANDS) == 3
    assert all(command in page.text for _, command in COMMANDS)


def test_units_of_the_scores_are_named(path: Path) -> None:
    assert "in standard deviations of each variable" in read(path).text
    original = {name: replace(each, unit=np.ones(300)) for name, each in SCORES.items()}
    assert "in original units" in read(path, scores=original, force=True).text


def test_everything_is_escaped(path: Path) -> None:
    page = read(
        path,
        title=NASTY,
        summary=NASTY,
        scores={NASTY: score(0, 1.0, (NASTY, "b")), "other": score(1, 1.5, (NASTY, "b"))},
        figures={NASTY: drawn()},
        facts={NASTY: NASTY},
        history=[Epoch(1, 1.0, 1.0, 0.1, 1.0, 1.0, 2.0)],
        parameters={NASTY: NASTY},
        units={NASTY: NASTY},
        series=NASTY,
    )
    assert "script" not in {tag for tag, _ in page.tags}
    assert page.every("img")[0]["alt"] == NASTY
    assert page.tables[0][1][0] == NASTY
    assert page.tables[1][2][:2] == [NASTY, NASTY]
    assert page.tables[2][1] == [NASTY, repr(NASTY)]
    attributes = {name for _, each in page.tags for name in each}
    assert not any(name.startswith("on") for name in attributes)


def test_nothing_is_fetched(path: Path) -> None:
    page = read(path, figures={"Patient 7": drawn()})
    content = path.read_text(encoding="utf-8")
    without_images = re.sub(r"data:image/png;base64,[\w+/=]+", "", content)
    assert not re.search(r"https?:|//|url\(|@import", without_images)
    assert not {"script", "link", "iframe", "object", "base"} & {tag for tag, _ in page.tags}
    policies = [meta["content"] for meta in page.every("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]
    assert "prefers-color-scheme: dark" in content
    assert "@media print" in content


def test_scores_that_do_not_exist_or_compare_are_refused_and_nothing_is_written(path: Path) -> None:
    with pytest.raises(OptionError, match="at least one forecaster"):
        read(path, scores={})
    other = replace(SCORES["naive"], horizon=np.full(300, 2))
    with pytest.raises(OptionError, match="only on the same targets"):
        read(path, scores={"ours": SCORES["ours"], "other": other})
    assert not list(path.parent.iterdir())


def test_a_file_is_replaced_only_by_force(path: Path) -> None:
    read(path, title="First")
    with pytest.raises(OptionError, match="exists already"):
        read(path, title="Second")
    assert "First" in path.read_text(encoding="utf-8")
    assert "Second" in read(path, title="Second", force=True).text


def test_one_forecaster_alone_is_best_of_nothing_and_unknown_numbers_are_dashes(path: Path) -> None:
    page = read(path, scores={"ours": replace(SCORES["ours"], scalar_crps=np.full(300, np.nan))})
    assert not page.bold
    assert page.tables[0][1][3] == "–"
    assert "ahead of" not in page.text
