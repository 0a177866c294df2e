"""The stochastic Brusselator: a noisy chemical oscillator (paper, appendix "the Brusselator").

The drift printed in the paper, 1 + (b+1)x + ax²y, explodes; docs/protocol.md, section 2, has the one meant.
"""

import numpy as np
from numpy.typing import NDArray

from sporadic.data.panel import Panel
from sporadic.datasets.sampling import check_size, grid, sporadic_panel

A, B = 0.3, 1.4
SIGMA, RHO = 0.1, 0.99
DT, SPAN = 0.1, 50.0
VARIABLES = ("x", "y")


def simulate(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Euler-Maruyama paths (series, grid points, 2), started around the unstable equilibrium (1, b/a)."""
    length = len(grid(SPAN, DT))
    mixing = np.linalg.cholesky(np.array([[1.0, RHO], [RHO, 1.0]]))
    noise = SIGMA * np.sqrt(DT) * rng.standard_normal((length - 1, n, 2)) @ mixing.T
    paths = np.empty((length, n, 2))
    paths[0] = np.array([1.0, B / A]) + 0.3 * rng.standard_normal((n, 2))
    for step in range(length - 1):
        x, y = paths[step].T
        autocatalysis = A * x**2 * y
        drift = np.stack([1 - (B + 1) * x + autocatalysis, B * x - autocatalysis], axis=1)
        paths[step + 1] = paths[step] + drift * DT + noise[step]
    return paths.swapaxes(0, 1)


def brusselator(n: int = 1_000, seed: int = 0) -> Panel:
    """Simulate trajectories of 50 s, seen about 4 times per 10 s, both variables at once in 80 % of the looks.

    `panel.truth` holds the dense paths on the grid of .1.
    """
    check_size(n)
    for_paths, for_sampling = np.random.default_rng(seed).spawn(2)
    paths = simulate(n, for_paths)
    return sporadic_panel(paths, grid(SPAN, DT), VARIABLES, both=0.8, rng=for_sampling)
