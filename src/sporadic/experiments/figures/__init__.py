"""The paper's figures, one file each, drawn from a few fits that they share (`fits`).

Each figure is a function from fitted models to a `Drawing`: a picture, the numbers behind it, and sentences about them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sporadic.distributed.executors import AbstractCrew
from sporadic.errors import DivergedError, FileError, OptionError, one_of
from sporadic.experiments.figures import brusselator, jump, path, refining, samples, solvers
from sporadic.experiments.figures.drawing import Drawing
from sporadic.experiments.figures.fits import BRUSSELATOR, CORRELATED, INDEPENDENT, SIZES, VARIATIONAL, Size
from sporadic.experiments.runner import fit_all, store_beside
from sporadic.experiments.trials import is_of_other_code
from sporadic.forecasting.forecaster import Forecaster
from sporadic.forecasting.saving import load
from sporadic.io.files import read_json, write_json
from sporadic.plots.canvas import blank

FACTS = "figures.json"
OTHER_CODE = "fitted by other code: --fresh fits anew"


@dataclass(frozen=True)
class Plan:
    """A figure: its number and name, the fits it needs, and how it is drawn from them."""

    number: int
    name: str
    fits: tuple[str, ...]
    draw: Callable[[Mapping[str, Forecaster], Size], Drawing]

    @property
    def stem(self) -> str:
        return f"figure-{self.number}-{self.name}"


PLANS = (
    Plan(1, "jump", (CORRELATED, INDEPENDENT, VARIATIONAL), jump.draw),
    Plan(2, "path", (CORRELATED,), path.draw),
    Plan(3, "samples", (CORRELATED,), samples.draw),
    Plan(4, "refining", (CORRELATED,), refining.draw),
    Plan(5, "solvers", (CORRELATED,), solvers.draw),
    Plan(6, "brusselator", (BRUSSELATOR,), brusselator.draw),
)


def draw_figures(
    folder: Path, *, mode: str, crew: AbstractCrew, tell: Callable[[str], None], only: Sequence[str] = (),
    fresh: bool = False,
) -> list[Path]:  # fmt: skip
    """Draws the figures (or `only` some, by number or name) into a folder, beside `figures.json` with all numbers."""
    size = SIZES[one_of("mode", mode, tuple(SIZES))]
    plans = chosen(only)
    blank(1, 1)  # without matplotlib, say so before hours of fitting
    names = list(dict.fromkeys(name for plan in plans for name in plan.fits))
    records = fit_all([size.trial(name) for name in names], folder, crew=crew, tell=tell, fresh=fresh)
    fits = dict(zip(names, records, strict=True))
    fitted = _loaded(fits, folder)
    paths: list[Path] = []
    facts = _kept(folder / FACTS, mode)
    for plan in plans:
        drawing = plan.draw(fitted, size)
        of_other_code = any(is_of_other_code(fits[name]) for name in plan.fits)
        small_print = "; ".join(filter(None, (size.small_print, OTHER_CODE if of_other_code else "")))
        paths += drawing.save(folder, plan.stem, small_print)
        facts[plan.stem] = {**drawing.facts, "other_code": True} if of_other_code else drawing.facts
        for sentence in (f"Figure {plan.number}: {paths[-2].name}, {paths[-1].name}.", *drawing.words):
            tell(sentence)
    write_json(folder / FACTS, {"mode": mode, "figures": dict(sorted(facts.items()))})
    return [*paths, folder / FACTS]


def chosen(only: Sequence[str]) -> list[Plan]:
    """The figures of these numbers or names, in their order; without any, all of them."""
    known = {alias: plan for plan in PLANS for alias in (str(plan.number), plan.name)}
    unknown = [each for each in only if each not in known]
    if unknown:
        names = ", ".join(f"{plan.number} ({plan.name})" for plan in PLANS)
        raise OptionError(f"There is no figure {unknown[0]!r}; there are {names}.")
    wanted = {known[each].number for each in only}
    return [plan for plan in PLANS if not only or plan.number in wanted]


def _loaded(fits: Mapping[str, Mapping[str, Any]], folder: Path) -> dict[str, Forecaster]:
    """The models of some fits."""
    for name, record in fits.items():
        if not np.isfinite(record["validation_nll"]):
            raise DivergedError(f"The fit {name!r} diverged, so there is nothing to draw from it.")
    store = store_beside(folder)
    return {name: load(store.model(record["key"])) for name, record in fits.items()}


def _kept(path: Path, mode: str) -> dict[str, Any]:
    """What an earlier run in the same mode wrote down of other figures."""
    try:
        before = read_json(path, "The numbers of the figures")
    except FileError:
        return {}
    return before.get("figures", {}) if before.get("mode") == mode else {}
