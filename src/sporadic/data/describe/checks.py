"""Two looks at the values of one variable: are some of them implausibly far out, and are they all in one unit?

Both give suspicions, never verdicts. And what to say of columns that are no variables, or may tell the future.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from sporadic.errors import listed

FAR = 5.0  # robust standard deviations
OUTLIER_RULE = (
    f"more than {FAR:g} robust standard deviations (1.48 × the median absolute deviation) from the median, on a log "
    "scale where a variable without negative values is skewed"
)
OUTCOMES = (
    "censored", "dead", "death", "deceased", "died", "dropout", "event", "futime", "mortality", "outcome", "status",
    "survival", "survived",
)  # fmt: skip
"""Names, in any case, of what is seldom known before a series ends."""
LEAK_RULE = (
    "a column of numbers of which none lies before its row's time, and half no farther ahead than the times reach, or "
    f"one whose name is {', '.join(OUTCOMES[:-1])} or {OUTCOMES[-1]}"
)
FEWEST = 8  # values to judge anything by
_CONVERSIONS: tuple[tuple[str, float, float], ...] = (  # what, and high = low * factor + offset
    ("10", 10, 0),
    ("100", 100, 0),
    ("1000", 1000, 0),
    ("88.4 (mg/dL and µmol/L of creatinine)", 88.4, 0),
    ("18 (mmol/L and mg/dL of glucose)", 18.016, 0),
    ("17.1 (mg/dL and µmol/L of bilirubin)", 17.1, 0),
    ("38.7 (mmol/L and mg/dL of cholesterol)", 38.67, 0),
    ("2.54 (inches and centimetres)", 2.54, 0),
    ("25.4 (inches and millimetres)", 25.4, 0),
    ("3.28 (metres and feet)", 3.2808, 0),
    ("2.2 (kilograms and pounds)", 2.2046, 0),
    ("7.5 (kPa and mmHg)", 7.5006, 0),
    ("4.18 (kcal and kJ)", 4.184, 0),
    ("60 (minutes and hours)", 60, 0),
    ("1.8 and an offset of 32 (°C and °F)", 1.8, 32),
)


@dataclass(frozen=True)
class UnitSuspicion:
    """Values in two separate clusters whose medians are a familiar conversion apart."""

    conversion: str  # or several, the nearest first
    low_count: int
    low_median: float
    high_count: int
    high_median: float

    def __str__(self) -> str:
        return (
            f"values in two units? {self.low_count:,} lie around {self.low_median:.3g} and {self.high_count:,} around "
            f"{self.high_median:.3g}, about a factor of {self.conversion}"
        )


def no_variables(unchanging: Collection[str], leaks: Collection[str]) -> str:
    """What to do about columns that never change within a series."""
    known = ",".join(name for name in unchanging if name not in leaks)
    later = ",".join(name for name in unchanging if name in leaks)
    are = "are constant within every series, so they are no variables"
    if len(unchanging) == 1:
        are = "is constant within every series, so it is no variable"
    others = [name for name in leaks if name not in unchanging]
    hint = f" Mind that {listed(others)} may tell the future." if others else ""
    return (
        f"{listed(unchanging, longest=len(unchanging))} {are}. Pass --static {known or '…'} for what was known from "
        f"the start, and --exclude {later or '…'} for what was not (in Python, static= and exclude=).{hint}"
    )


def far_out(values: np.ndarray) -> np.ndarray:
    """A mask of the suspected outliers (see OUTLIER_RULE); where there are but two different values, there are none."""
    if len(values) < FEWEST or not np.any((values != values.min()) & (values != values.max())):
        return np.zeros(len(values), dtype=bool)
    positive = values[values > 0]
    if (
        values.min() >= 0
        and len(positive) >= FEWEST
        and _skewness(positive) > max(0.15, abs(_skewness(np.log(positive))))
    ):
        far = np.zeros(len(values), dtype=bool)
        far[values > 0] = _far_from_median(np.log(positive))
        return far
    return _far_from_median(values)


def _far_from_median(values: np.ndarray) -> np.ndarray:
    distance = np.abs(values / 2 - np.median(values) / 2)  # halves: the extremes of float64 do not overflow
    spread = np.median(distance)
    if spread == 0 and distance.any():  # more than half of the values are the same
        spread = np.median(distance[distance > 0])
    return distance > FAR * 1.4826 * spread


def _skewness(values: np.ndarray) -> float:
    """Between -1 and 1, from deciles, so that outliers do not decide it."""
    low, middle, high = np.quantile(values / 2, [0.1, 0.5, 0.9])
    return float((high / 2 + low / 2 - middle) / (high / 2 - low / 2)) if high > low else 0.0


def mixed_units(values: np.ndarray) -> UnitSuspicion | None:
    """Two clusters of positive values, clearly apart, by a familiar conversion.

    Each must hold at least .5 % of the values, and 8 distinct ones. On the log scale a change of unit is a
    shift, so the clusters must also be about equally wide. Skewed, uniform or bell-shaped data have no two clusters so
    far apart.
    """
    positive = np.sort(values[values > 0])
    if len(positive) < 2 * FEWEST or positive[0] == positive[-1]:
        return None
    logs = np.log(positive)
    at = _best_cut(logs)
    low, high = logs[:at], logs[at:]
    if min(len(low), len(high)) < 0.005 * len(logs) or min(len(np.unique(low)), len(np.unique(high))) < FEWEST:
        return None
    low_width, high_width = (1.4826 * np.median(np.abs(part - np.median(part))) for part in (low, high))
    apart = np.median(high) - np.median(low)
    if apart < 3 * (low_width + high_width) or np.quantile(low, 0.95) >= np.quantile(high, 0.05):
        return None
    if not 0.4 < (high_width + 1e-9) / (low_width + 1e-9) < 2.5:
        return None
    low_median, high_median = float(np.exp(np.median(low))), float(np.exp(np.median(high)))
    errors = np.array([abs(np.log(high_median / (factor * low_median + offset))) for _, factor, offset in _CONVERSIONS])
    uncertainty = 1.2533 * np.hypot(low_width / np.sqrt(len(low)), high_width / np.sqrt(len(high)))
    fitting = [int(at) for at in np.argsort(errors) if errors[at] <= min(0.2, 0.04 + 2.5 * uncertainty)]
    if not fitting:
        return None
    conversion = " or ".join(_CONVERSIONS[at][0] for at in fitting)
    return UnitSuspicion(conversion, len(low), low_median, len(high), high_median)


def _best_cut(ordered: np.ndarray) -> int:
    """How many of the ordered values go to the lower one of two clusters, for the clusters to be as tight as can be."""
    n = len(ordered)
    centred = ordered - ordered.mean()
    below = np.cumsum(centred)[:-1]
    count = np.arange(1, n)
    between = below**2 * (1 / count + 1 / (n - count))  # variance between the clusters, up to a constant
    return int(np.argmax(between)) + 1
