"""The paper's table of Ornstein-Uhlenbeck processes, beside the exact filter, which the paper did not have."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sporadic.datasets.ou import SETTINGS
from sporadic.distributed.executors import AbstractCrew
from sporadic.evaluation.scores import clustered_mean
from sporadic.experiments.protocols import PAPER
from sporadic.experiments.published import OU
from sporadic.experiments.runner import Candidate, Tell, measure, write_results
from sporadic.experiments.table import Table, marked
from sporadic.experiments.trials import Trial

EXACT, MATCHED = "ou-oracle", "ou-moment-matched"
FAMILY = ("gru-ode-bayes", "gru-ode-bayes-minimal", "gru-ode-bayes-seq", "gru-ode-bayes-seq-minimal")
VARIATIONAL = ("neural-ode-vae", "neural-ode-vae-mask")
LEAK = 3
"""Standard errors below the exact filter from which on luck is no explanation."""

TRAINING = {"hidden_size": 64, "prep_size": 25, "max_epochs": 60, "batch_size": 128, "learning_rate": 1e-2,
            "withheld": 0.3}  # fmt: skip
"""The same for every model but those of two further rows."""
BEST = {**TRAINING, "model": "gru-ode-bayes", "batch_size": 64, "withheld": 0.4, "optimiser": "muon", "averaging": 8,
        "patience": 60}  # fmt: skip
"""One more row: more and better directed steps, of which a mean is kept, and more withheld against overfitting."""
AS_IN_THE_PAPER = {"model": "gru-ode-bayes", "hidden_size": 50, "obs_size": 25, "prep_size": 25, **PAPER["ou"]}
"""The sizes and the training of the paper."""
FURTHER = {"gru-ode-bayes, best": BEST, "gru-ode-bayes, paper": AS_IN_THE_PAPER}
ROWS = {model: {**TRAINING, "model": model} for model in (*FAMILY, *VARIATIONAL)} | FURTHER
_SMALL = {"hidden_size": 4, "obs_size": 4, "prep_size": 2, "max_epochs": 1}


def ou_table(
    folder: Path, *, mode: str, crew: AbstractCrew, tell: Tell, read_tests: bool = True, fresh: bool = False
) -> Table | None:
    """Every setting × model; how far each model is from the exact filter, in nats, with its standard error."""
    plan = {
        "full": (10_000, SETTINGS, tuple(ROWS), {}, (0,)),
        "quick": (1_000, ("random-r", "independent"), ("gru-ode-bayes", "neural-ode-vae"), {}, (0, 1, 2)),
        "smoke": (60, ("random-r",), ("gru-ode-bayes", "neural-ode-vae", *FURTHER), _SMALL, (0,)),
    }
    n, settings, rows, changes, seeds = plan[mode]
    candidates = [
        _candidate(n, setting, row, seed, changes)
        for setting in settings
        for row in (EXACT, MATCHED, *rows)
        for seed in seeds
    ]
    results = measure(candidates, folder, crew=crew, tell=tell, read_tests=read_tests, fresh=fresh)
    if results is None:
        return None
    results = results.join(distances(results))
    write_results(folder, results)
    table = Table(
        f"Ornstein-Uhlenbeck pairs, {n:,} series",
        ("setting", "model", "nll", "published", "mse", "published", "nats behind the exact filter", "training s"),
        [_row(*group) for group in results.groupby(["setting", "model"], sort=False)],
        (
            f"The next time point after t = 4, original units, data by the Euler scheme (step .05), "
            f"72 / 18 / 10 % training / validation / test, seed{'' if len(seeds) == 1 else 's'} "
            f"{', '.join(map(str, seeds))}. Standard errors are over test series.",
            *leaks(results),
            *(_ordering(results) if mode == "quick" else ()),
        ),
        mode,
    )
    table.write(folder)
    return table


def _candidate(n: int, setting: str, row: str, seed: int, changes: Mapping[str, Any]) -> Candidate:
    source = {"simulated": "ou", "n": n, "setting": setting, "seed": seed}
    options = {"model": row} if row in (EXACT, MATCHED) else {**ROWS[row], **changes, "seed": seed}
    trial = Trial(source, options, cutoff=4.0, next_k=1, units="original")
    return Candidate({"setting": setting, "model": row, "seed": seed}, trial)


def distances(results: pd.DataFrame) -> pd.DataFrame:
    """Columns `behind` and `behind_se`: nll minus the exact filter's, scalar by scalar on the same test series."""
    exact = results[results["model"] == EXACT].set_index(["setting", "seed"])["scalar_nll"]
    pairs = [
        clustered_mean(
            np.asarray(row["scalar_nll"]) - np.asarray(exact[row["setting"], row["seed"]]),
            np.asarray(row["scalar_series"]),
        )
        for row in results.to_dict("records")
    ]
    return pd.DataFrame(pairs, columns=["behind", "behind_se"], index=results.index)


def leaks(results: pd.DataFrame) -> list[str]:
    """A sentence for each model that is better than what is possible."""
    return [
        f"LEAKAGE: {row['model']} on {row['setting']} (seed {row['seed']}) is {-row['behind']:.4f} nats below the "
        f"exact filter, {-row['behind'] / row['behind_se']:.1f} standard errors: it must have seen what it forecasts."
        for row in results[results["behind"] < -LEAK * results["behind_se"]].to_dict("records")
    ]


def _row(labels: Any, group: pd.DataFrame) -> list[str]:
    setting, model = labels
    mse, nll = OU.get(setting, {}).get(model, (None, None))
    error = float(np.sqrt(np.sum(group["behind_se"] ** 2)) / len(group))
    behind = "" if model == EXACT else f"{group['behind'].mean():.4f} ± {error:.4f}"
    return [
        setting,
        marked(model, group),
        f"{group['nll'].mean():.4f}",
        "" if nll is None else f"{nll:.3f}",
        f"{group['mse'].mean():.5f}",
        "" if mse is None else f"{mse:.3f}",
        behind,
        "" if model in (EXACT, MATCHED) else f"{group['seconds'].mean():.0f}",
    ]


def _ordering(results: pd.DataFrame) -> list[str]:
    """Whether the paper's order of models holds in every setting and for every seed."""
    nll = results.pivot(index=["setting", "seed"], columns="model", values="nll")
    holds = int(np.sum(nll["gru-ode-bayes"] < nll["neural-ode-vae"]))
    return [f"gru-ode-bayes is ahead of neural-ode-vae, as in the paper, in {holds} of {len(nll)} settings × seeds."]
