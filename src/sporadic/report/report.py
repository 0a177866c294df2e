"""What a report says."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sporadic.errors import OptionError
from sporadic.evaluation.scores import LEVELS, Score
from sporadic.io.files import refuse_to_replace, write_file
from sporadic.plots import plot_calibration, plot_history
from sporadic.report.html import (
    bullets,
    commands,
    decimals,
    glossary,
    page,
    paragraph,
    percent,
    picture,
    ranked,
    section,
    significant,
    table,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sporadic.training import Epoch


COMMANDS = (
    ("what is in the file, and what is wrong with it", "sporadic describe data.csv"),
    ("train a model, and keep it in a folder", "sporadic fit data.csv --out model/"),
    ("forecast the next 30 units of time", "sporadic forecast model/ data.csv --horizon 30 --out forecasts.csv"),
)
"""Why and what to type, to get forecasts of one's own data."""
_OF_LEVELS = (
    (
        "Brier score",
        "The squared distance of the probabilities of levels from what came, halved: 0 is perfect, and of two levels "
        "that are always given one half each, it is 0.25.",
    ),
    ("accuracy", "How often the level came that was thought likeliest."),
    (
        "AUROC, area under the receiver operating characteristic",
        "Of two cases, one of each level: how often the second level was thought likelier for the one that had it.",
    ),
)
_PICTURES_OF_LEVELS = (
    " Of a variable with two levels, the line is the probability of the second one. Of more levels each has its own "
    "shade, as high as it is likely: a dot lies in the shade of the level that came."
)


def write_report(
    path: str | Path,
    *,
    title: str,
    summary: str,
    scores: Mapping[str, Score],
    figures: "Mapping[str, Figure]",
    facts: Mapping[str, Any] | None = None,
    history: "Sequence[Epoch]" = (),
    parameters: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
    series: str = "series",
    force: bool = False,
) -> Path:
    """Writes what was done and how well it went, for somebody who was not there. Needs the extra `plot`.

    **Arguments:**

    - `summary`: what data, and what was done; an empty line starts a new paragraph.
    - `scores`: by name of the forecaster, all on the same targets. The first is the one the report is about: it is
        compared with each other one, and its calibration is drawn.
    - `figures`: by caption, such as forecasts of single series.
    - `facts`: short answers by what they answer, such as {"patients": 312}.
    - `history`, `parameters`: of the forecaster, as in `forecaster.history` and `forecaster.get_params()`.
    - `units`: of the variables, by name, for the errors in original units.
    - `series`: what the series are, in the plural, such as "patients".
    - `force`: replaces a file that exists.
    """
    path = Path(path)
    refuse_to_replace(path, force=force)
    if not scores:
        raise OptionError("A report needs the score of at least one forecaster.")
    sections = (
        section("How good the forecasts are", _comparison(scores, series)),
        section("Examples", "".join(picture(figure, caption) for caption, figure in figures.items())),
        section("Variable by variable", _by_variable(scores, units or {})),
        section("Can the intervals be trusted?", _calibration(scores, series)),
        section("How it was trained", _training(history, parameters or {})),
        section("How to read this", _glossary(next(iter(scores.values())))),
        section("The same for your own data", _own_data()),
    )
    write_file(path, page(title, summary, facts or {}, sections).encode())
    return path


def _comparison(scores: Mapping[str, Score], series: str) -> str:
    """All forecasters in one table, and how far the first is ahead of each of the others."""
    (ours, score), *others = scores.items()
    every = scores.values()
    columns = [ranked([getattr(each, name) for each in every], decimals) for name in ("nll", "mse", "crps")]
    for level in LEVELS:
        shares = [each.coverage[level] for each in every]
        columns.append(ranked(shares, percent, lambda share, level=level: abs(share - level / 100)))
    head = ["", "nll", "mse", "crps", *(f"inside {level}\u00a0%" for level in LEVELS)]
    rows = zip(scores, zip(*columns, strict=True), strict=True)
    text = f"{score.n:,} values of {len(np.unique(score.series)):,} {series} were forecast."
    if not others:
        return paragraph(text) + table(head, rows) + _by_likelihood(scores)
    text += " In bold the best of each column: the lowest error, or the interval that holds most nearly its share."
    margins = [_margin(ours, score, name, other) for name, other in others]
    note = paragraph(f"After ± stands one standard error, with the {series} as units.", "note")
    return paragraph(text) + table(head, rows, ours=ours) + bullets(margins) + note + _by_likelihood(scores)


def _by_likelihood(scores: Mapping[str, Score]) -> str:
    """The nll of variables that are modelled alike, where densities and probabilities would otherwise be averaged."""
    if not next(iter(scores.values())).is_mixed:
        return ""
    parts = {name: score.by("likelihood") for name, score in scores.items()}
    ours = next(iter(parts.values()))
    rows = [
        (str(likelihood), [f"{part.n:,}", *ranked([each[likelihood].nll for each in parts.values()], decimals)])
        for likelihood, part in ours.items()
    ]
    text = (
        "Some variables are numbers with a density, others are levels or counts with probabilities. Densities and "
        "probabilities are not to be averaged: the nll above serves to compare forecasters, and here it is by "
        "likelihood."
    )
    return paragraph(text) + table(["likelihood", "values", *parts], rows)


def _margin(ours: str, score: Score, name: str, other: Score) -> str:
    """How far one forecaster is ahead of another on the same values, and whether that may be luck."""
    difference, error = score.difference(other)
    place = "ahead of" if difference < 0 else "behind"
    luck = " That is within two standard errors: it may be luck." if abs(difference) < 2 * error else ""
    return f"{ours} is {abs(difference):.3f} ± {error:.3f} nats per value {place} {name}.{luck}"


def _by_variable(scores: Mapping[str, Score], units: Mapping[str, str]) -> str:
    """What is good or bad about the forecasts of each variable: a table for numbers, and one for levels."""
    parts = {name: score.by("variable") for name, score in scores.items()}
    ours = next(iter(parts.values()))
    levels = [variable for variable, part in ours.items() if np.isfinite(part.brier)]
    numbers = [variable for variable in ours if variable not in levels]
    return (_errors(parts, numbers, units) if numbers else "") + (_of_levels(parts, levels) if levels else "")


def _errors(
    parts: Mapping[str, Mapping[str | int, Score]], variables: Sequence[str | int], units: Mapping[str, str]
) -> str:
    """Errors of the predictive mean in original units, of every forecaster, and the coverage of the first."""
    ours = next(iter(parts))
    rows = []
    for variable in variables:
        every = [each[variable] for each in parts.values()]
        errors = [cell for name in ("mae", "rmse") for cell in ranked([getattr(e, name) for e in every], significant)]
        unit = escape(units.get(str(variable), ""))
        rows.append((str(variable), [unit, f"{every[0].n:,}", *errors, percent(every[0].coverage[95])]))
    text = (
        "How far the mean of a forecast was off, in the units of each variable: on average (MAE), and with large "
        f"errors given more weight (RMSE). On the right, how many values were inside the 95 % intervals of {ours}."
    )
    groups = [("", 3), ("MAE", len(parts)), ("RMSE", len(parts)), ("", 1)]
    return paragraph(text) + table(["", "unit", "values", *parts, *parts, "inside 95\u00a0%"], rows, groups=groups)


def _of_levels(parts: Mapping[str, Mapping[str | int, Score]], variables: Sequence[str | int]) -> str:
    """How good probabilities were, of every forecaster; the AUROC where a variable has two levels."""
    measures = {"brier": "Brier", "accuracy": "accuracy", "auroc": "AUROC"}
    if not any(np.isfinite(each[variable].auroc) for each in parts.values() for variable in variables):
        del measures["auroc"]
    rows = []
    for variable in variables:
        every = [each[variable] for each in parts.values()]
        cells = {
            "brier": ranked([e.brier for e in every], decimals),
            "accuracy": ranked([e.accuracy for e in every], percent, lambda share: -share),
            "auroc": ranked([e.auroc for e in every], decimals, lambda area: -area),
        }
        rows.append((str(variable), [f"{every[0].n:,}", *(cell for name in measures for cell in cells[name])]))
    text = (
        "Of variables with levels: how far the probabilities were from what came (Brier, the lower the better), and "
        "how often the likeliest level came (accuracy)."
    )
    if "auroc" in measures:
        text += " Of those with two levels also how well cases are told apart (AUROC): 0.5 is chance, 1 is perfect."
    groups = [("", 2), *((name, len(parts)) for name in measures.values())]
    return paragraph(text) + table(["", "values", *(list(parts) * len(measures))], rows, groups=groups)


def _calibration(scores: Mapping[str, Score], series: str) -> str:
    name, score = next(iter(scores.items()))
    known = ~np.isnan(score.pit)
    if not known.any():
        return paragraph("The variables have levels without an order, hence no intervals.")
    caption = (
        f"Calibration of {name}. Left: where in their predictive distributions the values fell. Honest forecasts give "
        "even columns, which end in the grey band. Right: how many values the intervals of each level held, with two "
        f"standard errors over {series}. Above the diagonal intervals are too wide, below it too narrow."
    )
    if score.levels is not None and not np.isnan(score.levels.yes).all():
        caption = caption.replace("Right: how many", "Middle: how many") + (
            " Right: the probabilities that variables with two levels were given, by tenths, and how often they came "
            "true."
        )
    if not known.all():
        caption += f" Levels without an order have no intervals: {np.sum(~known):,} values are left out."
    return picture(plot_calibration(score), caption)


def _training(history: "Sequence[Epoch]", parameters: Mapping[str, Any]) -> str:
    curves = ""
    if history:
        seconds = sum(epoch.seconds for epoch in history)
        caption = (
            f"{len(history)} epochs, {seconds:.0f} s. Kept were the weights of the epoch that forecast the validation "
            "data best."
        )
        curves = picture(plot_history(history), caption)
    if not parameters:
        return curves
    rows = [(name, [f"<code>{escape(repr(value))}</code>"]) for name, value in parameters.items()]
    return f"{curves}<details>\n<summary>All settings</summary>\n{table(['setting', 'value'], rows)}</details>\n"


def _glossary(score: Score) -> str:
    unit = "in original units" if np.all(score.unit == 1) else "in standard deviations of each variable"
    return glossary(
        (
            (
                "nll, negative log-likelihood",
                f"How surprising the values were to the forecaster, in nats per value ({unit}). It rewards being "
                "right, and knowing how sure one may be. It can be negative.",
            ),
            ("mse, mean squared error", f"How far the mean of the forecast was off, squared ({unit})."),
            (
                "crps, continuous ranked probability score",
                f"How far the whole forecast was off ({unit}). For a forecast without doubts it is the absolute error.",
            ),
            (
                "inside 50, 90, 95 %",
                "How many values fell into the central interval of that level. If more than the level says, the "
                "intervals are too wide; if fewer, too narrow, which is worse.",
            ),
            *(_OF_LEVELS if np.isfinite(score.brier) else ()),
            (
                "the pictures",
                "Black dots were known to the model, hollow ones came later. The line is the mean of what the model "
                "believes, the bands are intervals: about 95 of 100 values should lie in the pale one, about 50 in the "
                "dark one. Where the background is grey, the belief is a forecast."
                + (_PICTURES_OF_LEVELS if np.isfinite(score.brier) else ""),
            ),
            (
                "what a forecast is not",
                "It says what is likely for series like those it was trained on, treated as they were. It does not say "
                "what another treatment would do. It is no medical advice.",
            ),
        )
    )


def _own_data() -> str:
    text = (
        "A CSV or Parquet file will do, with one row per time point: a column id, a column time (numbers or dates), "
        "and a column per variable, empty where nothing was measured. Other column names can be given as options."
    )
    return paragraph(text) + commands(COMMANDS)
