"""The OU process written out as one large Gaussian: slow, and short enough to be believed."""

import numpy as np
import pandas as pd

from sporadic.data.panel import Panel
from sporadic.datasets.ou import OUProcess


def panel_of(rows: list[tuple[int, float, str, float]]) -> Panel:
    """A panel from (id, time, variable, value)."""
    frame = pd.DataFrame(rows, columns=["id", "time", "variable", "value"])
    return Panel.from_long(frame, variables=("y1", "y2"), origin=0, end=10.0, time_scale=1.0)


def scalars_of(panel: Panel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time, variable and value of each observation."""
    return panel.times[panel.point_of_value], panel.variable, panel.value


def moments(
    process: OUProcess, theta: float, lag: float, times: np.ndarray, variables: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of all scalars is `slope` r; and their covariance. From Y(0) = 0 and the definition of each scheme."""
    steps = np.round((times + lag) / process.dt)
    if process.scheme == "euler":
        decay = 1 - theta * process.dt
        gained = process.sigma**2 * process.dt * np.array([np.sum(decay ** (2 * np.arange(n))) for n in steps])
    else:
        decay = np.exp(-theta * process.dt)
        gained = process.sigma**2 * (1 - np.exp(-2 * theta * process.dt * steps)) / (2 * theta)
    correlation = np.where(variables[:, None] == variables[None, :], 1.0, process.rho)
    covariance = correlation * decay ** np.abs(steps[:, None] - steps) * np.minimum(gained[:, None], gained)
    return (1 - decay**steps)[:, None] * (variables[:, None] == np.arange(2)), covariance


def log_densities(slope: np.ndarray, covariance: np.ndarray, values: np.ndarray, r: np.ndarray) -> np.ndarray:
    """log N(values; slope r, covariance) at many r (points, 2)."""
    factor = np.linalg.cholesky(covariance)
    residual = np.linalg.solve(factor, values)[:, None] - np.linalg.solve(factor, slope) @ r.T
    log_determinant = 2 * np.sum(np.log(np.diag(factor)))
    return -0.5 * (np.sum(residual**2, axis=0) + log_determinant + len(values) * np.log(2 * np.pi))
