"""Every model of the family on real sporadic data: weather stations and patients, as the files come."""

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

import sporadic as sp
from sporadic.encoding.encoder import Scaling
from sporadic.encoding.event_tables import EventTable
from sporadic.evaluation.protocol import Evaluation
from sporadic.models import build
from sporadic.models.gru_ode_bayes import RECIPES
from sporadic.models.objective import Objective

VARIABLES = ["PRCP", "SNOW", "SNWD", "TMAX", "TMIN"]


@pytest.fixture(scope="module")
def stations(data_file) -> sp.Panel:
    """The last quarter of eight USHCN stations, five variables, one of them at a time mostly."""
    table = pd.read_csv(data_file("ushcn/ushcn_sporadic_draw0.csv.gz"), nrows=4000)
    table = table[table["Time"] > 140].copy()
    for number, name in enumerate(VARIABLES):
        table[name] = table[f"Value_{number}"].where(table[f"Mask_{number}"] == 1)
    return sp.Panel.from_wide(table, id="ID", time="Time", variables=VARIABLES, time_scale=1)


@pytest.mark.parametrize("name", RECIPES)
def test_weather_stations(name, stations):
    scaling = Scaling.fit(stations, calendar={"year": 49.02})
    options = {"flow_options": {"step": 1.0}} if name == "gru-discretized-bayes" else {}
    model = build(name, scaling.dimensions, hidden_size=6, obs_size=6, prep_size=3, key=jr.key(0), **options)
    batch = EventTable.of(stations, scaling, model.layout).batch(np.arange(len(stations)))

    @eqx.filter_jit
    def loss_and_slope(model):
        def loss(model):
            return jax.vmap(lambda e, s: model.loss(e, s, Objective(), key=None))(*batch).loss_per_value

        return eqx.filter_value_and_grad(loss)(model)

    before, slope = loss_and_slope(model)
    after, _ = loss_and_slope(eqx.apply_updates(model, jax.tree.map(lambda g: -0.01 * g, slope)))
    assert float(after) < float(before)
    score = Evaluation.of(stations, scaling, model, cutoff=150, next_k=3).score(model)
    assert score.n > 3 * len(stations) - 1
    assert np.isfinite([score.nll, score.mse, score.crps]).all()


def test_patients_with_covariates(data_file):
    table = pd.read_csv(data_file("clinical/survival_pbcseq.csv"))
    labs = ["bili", "chol", "albumin", "alk.phos", "ast", "platelet", "protime"]
    panel = sp.Panel.from_wide(table, time="day", variables=labs, static=["age", "sex", "trt", "futime"], end="futime")
    assert len(panel) == 312
    forecaster = sp.Forecaster(hidden_size=6, obs_size=6, prep_size=3, max_epochs=2, batch_size=78).fit(panel)
    forecast = forecaster.forecast(panel[:5], horizon=365, steps=2)
    assert np.isfinite(forecast.to_frame()[["mean", "std", "lo-95", "hi-95"]].to_numpy()).all()
    assert forecaster.history[-1].train_nll < forecaster.history[0].train_nll
