"""How the synthetic data sets look at their paths: few time points, and not every variable at each."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sporadic.data.panel import Panel
from sporadic.errors import OptionError

POINTS = 20
"""Time points per series on average; the number is uniform within ±20 % of it."""


def grid(span: float, dt: float) -> NDArray[np.float64]:
    """0, dt, …, span, free of the rounding noise of repeated sums."""
    return np.round(np.arange(round(span / dt) + 1, dtype=np.float64) * dt, 9)


def check_size(n: int) -> None:
    if n < 1:
        raise OptionError(f"n is the number of series and must be at least 1; got {n}.")


def sporadic_panel(
    paths: NDArray[np.float64],
    times: NDArray[np.float64],
    variables: tuple[str, str],
    *,
    both: float,
    rng: np.random.Generator,
    parameters: pd.DataFrame | None = None,
) -> Panel:
    """A panel of sporadic looks at `paths` (series, times, 2), which it carries along as its truth.

    Each series is seen at grid points drawn without replacement; there both variables are seen with probability `both`,
    otherwise one of them at random. What was drawn per series is kept in `truth.attrs["parameters"]`, column by column.
    """
    n, length, _ = paths.shape
    count = rng.integers(round(0.8 * POINTS), round(1.2 * POINTS), size=n, endpoint=True)
    rank = rng.random((n, length)).argsort(axis=1).argsort(axis=1)
    series, step = np.nonzero(rank < count[:, None])
    look = rng.random(len(series))
    only_one = (1 - both) / 2
    point, variable = np.nonzero(np.stack([look >= only_one, look < 1 - only_one], axis=1))
    series, step = series[point], step[point]
    observations = pd.DataFrame(
        {
            "id": series,
            "time": times[step],
            "variable": np.asarray(variables)[variable],
            "value": paths[series, step, variable],
        }
    )
    truth = pd.DataFrame({"id": np.repeat(np.arange(n), length), "time": np.tile(times, n)})
    for index, name in enumerate(variables):
        truth[name] = paths[:, :, index].ravel()
    if parameters is not None:
        truth.attrs["parameters"] = parameters.to_dict("list")
    panel = Panel.from_long(observations, variables=variables, origin=0, end=float(times[-1]), time_scale=1.0)
    return panel.with_truth(truth)
