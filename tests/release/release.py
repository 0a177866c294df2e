"""What version 0.1 wrote: two model folders, a stream, and the forecasts they gave.

`python -m tests.release.release` wrote `files/`, with the code of that release. It is not to be run again: later code
must read these very files and forecast the same.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import sporadic as sp

FILES = Path(__file__).parent / "files"
CUTOFF, TIMES = 6.0, [6.5, 7.25, 12.0]
STREAMED = 4  # series
KINDS = {
    "gaussian": "gaussian", "student": "student-t", "log_normal": "log-normal", "mixture": "mixture:2",
    "binary": "binary", "word": "categorical", "grade": "ordinal", "poisson": "poisson",
    "negative_binomial": "negative-binomial", "of_ten": "binomial:10", "hits": "binomial:tested", "tested": "poisson",
    "red": "multinomial:cells", "white": "multinomial:cells", "rain": "zero-inflated",
    "shift": "zero-inflated:0|gaussian", "jump": "zero-inflated:0|student-t",
}  # fmt: skip


def make_tables(n: int = 16, points: int = 8, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Series with every kind of observation, covariates, and all three kinds of control."""
    rng = np.random.default_rng(seed)
    tables = []
    for id in range(n):
        level = rng.normal()
        shape = points
        tested = rng.poisson(12, shape) + 1
        table = pd.DataFrame(
            {
                "id": f"s{id}",
                "time": np.sort(rng.uniform(0, 10, points)).round(3),
                "gaussian": level + 0.3 * rng.normal(size=shape),
                "student": level + rng.standard_t(3, shape),
                "log_normal": np.exp(level + 0.5 * rng.normal(size=shape)),
                "mixture": rng.choice([-2.0, 2.0], shape) + 0.3 * rng.normal(size=shape),
                "binary": rng.integers(0, 2, shape),
                "word": rng.choice(["left", "right", "straight"], shape),
                "grade": rng.integers(1, 5, shape),
                "poisson": rng.poisson(3, shape),
                "negative_binomial": rng.negative_binomial(2, 0.3, shape),
                "of_ten": rng.binomial(10, 0.3, shape),
                "hits": rng.binomial(tested, 0.6),
                "tested": tested,
                "red": rng.poisson(5, shape),
                "white": rng.poisson(8, shape),
                "rain": np.where(rng.random(shape) < 0.5, 0.0, np.exp(rng.normal(size=shape))),
                "shift": np.where(rng.random(shape) < 0.4, 0.0, rng.normal(size=shape)),
                "jump": np.where(rng.random(shape) < 0.4, 0.0, rng.standard_t(3, shape)),
            }
        )
        free = [name for name in KINDS if name not in ("hits", "tested", "red", "white")]
        for names in ([[name] for name in free], [["hits", "tested"]], [["red", "white"]]):
            for group in names:
                table[group] = table[group].where(pd.Series(rng.random(points) > 0.3))
        tables.append(table)
    ids = [f"s{id}" for id in range(n)]
    records = [
        pd.DataFrame({"id": ids, "start": rng.uniform(0, 8, n).round(3), "control": name, "kind": kind,
                      "value": rng.uniform(0.5, 2, n)})
        for name, kind in (("dose", "hold"), ("drip", "rate"), ("shot", "bolus"))
    ]  # fmt: skip
    controls = pd.concat(records, ignore_index=True)
    controls["end"] = (controls["start"] + 2.0).where(controls["kind"] == "rate")
    static = pd.DataFrame({"id": ids, "age": rng.normal(50, 10, n).round(1), "sex": rng.choice(["f", "m"], n)})
    return {"observations": pd.concat(tables, ignore_index=True).round(6), "static": static, "controls": controls}


def read_panel() -> sp.Panel:
    tables = {name: pd.read_csv(FILES / f"{name}.csv") for name in ("observations", "static", "controls")}
    return sp.Panel.from_wide(tables["observations"], static=tables["static"], controls=tables["controls"], origin=0.0)


def plain_panel() -> sp.Panel:
    """The same series, of what is measured on a scale; for models that take nothing else."""
    table = pd.read_csv(FILES / "observations.csv")
    return sp.Panel.from_wide(table, variables=["gaussian", "student", "log_normal"], origin=0.0)


def forecast_panel(forecaster: sp.Forecaster, panel: sp.Panel) -> pd.DataFrame:
    return forecaster.forecast(panel, times=TIMES, cutoff=CUTOFF, controls="hold").to_frame()


def next_times(forecaster: sp.Forecaster, panel: sp.Panel) -> pd.DataFrame:
    return forecaster.forecast(panel, times=TIMES, cutoff=CUTOFF, controls="hold").next_time().to_frame()


def observe_half(forecaster: sp.Forecaster) -> sp.Stream:
    """A stream that has seen some series up to the cutoff."""
    stream = forecaster.stream()
    tables = {name: pd.read_csv(FILES / f"{name}.csv") for name in ("observations", "static", "controls")}
    ids = [f"s{id}" for id in range(STREAMED)]
    observations, static, controls = (table[table["id"].isin(ids)] for table in tables.values())
    stream.observe_many(
        observations[observations["time"] <= CUTOFF],
        static=static,
        controls=controls[controls["start"] <= CUTOFF],
        origin=0.0,
    )
    return stream


def forecast_stream(stream: sp.Stream) -> pd.DataFrame:
    return pd.concat([stream.forecast(id, TIMES, controls="hold").to_frame() for id in stream.ids])


def write() -> None:
    FILES.mkdir()
    for name, table in make_tables().items():
        table.to_csv(FILES / f"{name}.csv", index=False)
    sizes = {"hidden_size": 8, "obs_size": 8, "prep_size": 4, "max_epochs": 3, "batch_size": 8, "seed": 1}
    mixed = sp.Forecaster(
        **sizes, likelihood=KINDS, joint="low-rank:1", calendar={"week": 7.0}, arrivals=True, dropout=0.1
    ).fit(read_panel(), cutoff=CUTOFF, validation=0.25, progress=False)
    mixed.save(FILES / "gru-ode-bayes")
    likelihood = {"student": "student-t", "log_normal": "log-normal"}
    plain = sp.Forecaster("gru-d", **sizes, likelihood=likelihood).fit(
        plain_panel(), cutoff=CUTOFF, validation=0.25, progress=False
    )
    plain.save(FILES / "gru-d")
    stream = observe_half(mixed)
    stream.save(FILES / "stream.safetensors")
    forecasts = {
        "gru-ode-bayes": forecast_panel(mixed, read_panel()),
        "next-time": next_times(mixed, read_panel()),
        "gru-d": forecast_panel(plain, plain_panel()),
        "stream": forecast_stream(stream),
    }
    for name, table in forecasts.items():
        table.to_csv(FILES / f"forecast-{name}.csv", index=False)


if __name__ == "__main__":
    write()
