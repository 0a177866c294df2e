"""Planted signals that a model must find: a level to which a series relaxes, a dose that fades, and the week.

One panel has all three, so that a model is compiled and trained once.
"""

import numpy as np
import pandas as pd

from sporadic import Forecaster, Panel

CUTOFF, LATER = 6.0, [7.0, 8.5, 10.0]
CALENDAR = {"week": 7.0}
SIGNALS = ("level", "impulse", "week")


class Planted:
    """Series whose truth is known at any time; variables are seen by chance, with noise."""

    def __init__(self, n: int, seed: int):
        rng = np.random.default_rng(seed)
        self.level, self.dose, self.given = rng.normal(size=n), rng.uniform(1, 3, n), rng.uniform(1, 9, n)
        rows = []
        for i in range(n):
            time, shift = 0.0, 0.0  # of an Ornstein-Uhlenbeck process, from its mean
            for t in np.sort(rng.uniform(0, 10, 10)):
                kept = np.exp(-(t - time))
                shift, time = kept * shift + 0.15 * np.sqrt(1 - kept**2) * rng.normal(), t
                values = self.at(i, t) + np.array([shift, *0.05 * rng.normal(size=2)])
                seen = rng.random(3) < 0.6
                seen[rng.integers(3)] = True
                rows.append((i, t, *np.where(seen, values, np.nan)))
        doses = pd.DataFrame({"id": np.arange(n), "start": self.given, "control": "pill", "value": self.dose})
        self.panel = Panel.from_wide(
            pd.DataFrame(rows, columns=["id", "time", *SIGNALS]), controls=doses.assign(kind="bolus"), origin=0.0
        )

    def at(self, i: int, t: float) -> np.ndarray:
        """The three signals of one series, without noise."""
        since = t - self.given[i]
        fading = self.dose[i] * np.exp(-since / 2) if since > 0 else 0.0
        return np.array([self.level[i] * (1 - np.exp(-t)), fading, np.sin(2 * np.pi * t / 7)])


def shares_missed(model: str, *, max_epochs: int = 30, batch_size: int = 50) -> dict[str, float]:
    """Of each signal, the share of its variance that forecasts of a small fast fit miss on new series."""
    options = {"hidden_size": 16, "obs_size": 16, "learning_rate": 1e-2}
    fitted = Forecaster(model, calendar=CALENDAR, max_epochs=max_epochs, batch_size=batch_size, **options).fit(
        Planted(320, 0).panel, cutoff=CUTOFF, progress=False
    )
    new = Planted(60, 1)
    found = fitted.forecast(new.panel, times=LATER, cutoff=CUTOFF, controls="hold").mean()
    truth = np.array([new.at(i, t) for i in range(60) for t in LATER])
    missed = np.mean((np.reshape(found, truth.shape) - truth) ** 2, axis=0) / np.var(truth, axis=0)
    return dict(zip(SIGNALS, missed.tolist(), strict=True))
