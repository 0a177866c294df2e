"""Correlated Ornstein-Uhlenbeck pairs with random parameters (paper, appendix on Ornstein-Uhlenbeck SDEs).

dY = θ(r − Y)dt + σ dW, Y(0) = 0, seen without noise. `OUProcess` holds the law; the generator here and the exact
filter in `sporadic.oracle` both take their transitions from it.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sporadic.data.panel import Panel
from sporadic.datasets.sampling import check_size, grid, sporadic_panel
from sporadic.errors import one_of

Array = NDArray[np.float64]

SETTINGS = ("random-r", "random-lag", "independent", "random-theta")
SCHEMES = ("euler", "exact")
VARIABLES = ("y1", "y2")


@dataclass(frozen=True)
class OUProcess:
    """The law of an OU data set: what is fixed, and what each series draws uniformly for itself.

    A series draws its target r within `reach` of `centre`, θ from an interval and a lag from a set of grid steps; it is
    seen as X(t) = Y(t + lag). With `scheme="euler"` the truth is the Euler-Maruyama recursion on the grid, as in the
    published data (stationary variance σ²/(2 − dt)); with "exact" it is the SDE itself at the grid points (σ²/2).
    """

    rho: float = 0.99
    theta: tuple[float, float] = (1.0, 1.0)
    lags: tuple[int, ...] = (0,)
    scheme: str = "euler"

    sigma: ClassVar[float] = 0.1
    centre: ClassVar[tuple[float, float]] = (1.0, -1.0)
    reach: ClassVar[float] = 0.5
    dt: ClassVar[float] = 0.05
    span: ClassVar[float] = 10.0
    longest_lag: ClassVar[int] = 10

    @classmethod
    def of(cls, setting: str, scheme: str) -> "OUProcess":
        one_of("setting", setting, SETTINGS)
        one_of("scheme", scheme, SCHEMES)
        match setting:
            case "random-lag":
                return cls(lags=tuple(range(cls.longest_lag + 1)), scheme=scheme)
            case "independent":
                return cls(rho=0.0, scheme=scheme)
            case "random-theta":
                return cls(theta=(0.5, 1.5), scheme=scheme)
            case _:
                return cls(scheme=scheme)

    @property
    def correlation(self) -> Array:
        """Of the two Wiener processes, hence of any two increments over the same time."""
        return np.array([[1.0, self.rho], [self.rho, 1.0]])

    def transition(self, theta: Array, steps: int | NDArray[np.integer]) -> tuple[Array, Array]:
        """Over a number of grid steps Y − r shrinks by `decay` and gains noise of `variance` × `correlation`."""
        if self.scheme == "euler":
            one_step = 1 - theta * self.dt
            stationary = self.sigma**2 * self.dt / (1 - one_step**2)
        else:
            one_step = np.exp(-theta * self.dt)
            stationary = self.sigma**2 / (2 * theta)
        decay = np.power(one_step, steps)
        return decay, stationary * (1 - decay**2)

    def draw_parameters(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """r1, r2, θ and the lag (in time units) of each series. Every setting consumes the same random numbers."""
        r = np.asarray(self.centre) + rng.uniform(-self.reach, self.reach, size=(n, 2))
        theta = rng.uniform(*self.theta, size=n)
        lag = np.asarray(self.lags)[np.floor(rng.random(n) * len(self.lags)).astype(int)]
        columns = {"id": np.arange(n), "r1": r[:, 0], "r2": r[:, 1], "theta": theta, "lag": np.round(lag * self.dt, 9)}
        return pd.DataFrame(columns)

    def simulate(self, parameters: pd.DataFrame, rng: np.random.Generator) -> Array:
        """Paths of X on the grid, (series, grid points, 2).

        Y is always drawn long enough for the longest lag, so that one seed means the same noise in every setting.
        """
        n, length = len(parameters), len(grid(self.span, self.dt))
        r = parameters[["r1", "r2"]].to_numpy()
        decay, variance = self.transition(parameters["theta"].to_numpy()[:, None], 1)
        noise = rng.standard_normal((length + self.longest_lag - 1, n, 2)) @ np.linalg.cholesky(self.correlation).T
        y = np.zeros((len(noise) + 1, n, 2))
        for step, shock in enumerate(noise):
            y[step + 1] = r + decay * (y[step] - r) + np.sqrt(variance) * shock
        lag = np.round(parameters["lag"].to_numpy() / self.dt).astype(int)
        return y[lag[:, None] + np.arange(length), np.arange(n)[:, None]]


def ou(n: int = 10_000, setting: str = "random-r", seed: int = 0, scheme: str = "euler") -> Panel:
    """Simulate OU pairs seen about 20 times on [0, 10], one variable or both at a time (docs/protocol.md, section 2).

    Settings: "random-r" (ρ = .99), "random-lag" (plus a time shift of 0 to .5), "independent" (ρ = 0), "random-theta"
    (random-r with θ ~ U(.5, 1.5)). `panel.truth` holds the dense paths, `panel.truth.attrs["parameters"]` what each
    series drew. One seed gives the same r, noise and observation pattern in every setting and scheme.
    """
    process = OUProcess.of(setting, scheme)
    check_size(n)
    for_parameters, for_noise, for_sampling = np.random.default_rng(seed).spawn(3)
    parameters = process.draw_parameters(n, for_parameters)
    paths = process.simulate(parameters, for_noise)
    times = grid(process.span, process.dt)
    return sporadic_panel(paths, times, VARIABLES, both=0.2, rng=for_sampling, parameters=parameters)
