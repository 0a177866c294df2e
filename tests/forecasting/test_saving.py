"""Model folders: what comes back is what was saved, and nothing hostile gets through."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sporadic as sp
from sporadic.dynamics import MinimalGRUODE
from sporadic.errors import FileError, NotFittedError, OptionError, SporadicError
from sporadic.forecasting.saving import _seal
from sporadic.testing import CUTOFF, small_panel

SIZES = {"hidden_size": 8, "obs_size": 8, "prep_size": 4, "max_epochs": 1, "batch_size": 16}


@pytest.fixture(scope="module")
def panel():
    return small_panel(24, seed=0)


@pytest.fixture(scope="module")
def forecaster(panel):
    return sp.Forecaster(**SIZES).fit(panel, cutoff=CUTOFF, progress=False)


@pytest.fixture
def folder(forecaster, tmp_path):
    forecaster.save(tmp_path / "model")
    return tmp_path / "model"


def mean(forecaster, panel):
    return forecaster.forecast(panel, times=[7.0], cutoff=CUTOFF, controls="hold").mean()


def edit(folder: Path, **changes) -> None:
    """Changes the configuration and seals it anew, as someone who knows the format could."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config.pop("sha256")
    config |= changes
    path.write_text(json.dumps(config | {"sha256": _seal(config)}))


def test_a_folder_holds_two_files_that_people_can_read(folder, forecaster):
    assert {each.name for each in folder.iterdir()} == {"config.json", "model.safetensors"}
    config = json.loads((folder / "config.json").read_text())
    assert [each["name"] for each in config["variables"]] == ["a", "b", "c"]
    assert config["weights"]["count"] == forecaster.n_parameters_
    assert config["history"][0]["epoch"] == 1
    names = safetensors.numpy.load_file(folder / "model.safetensors").keys()
    assert "f_obs.out.bias" in names


def test_everything_comes_back(folder, forecaster, panel):
    loaded = sp.load(folder)
    np.testing.assert_array_equal(mean(loaded, panel), mean(forecaster, panel))
    assert loaded.get_params() == forecaster.get_params()
    assert repr(loaded) == repr(forecaster)
    assert list(loaded.history) == list(forecaster.history)
    assert loaded.origin_ == forecaster.origin_ == 0.0
    stream = loaded.stream()
    stream.observe("new", 1.0, {"a": 1.0}, static={"age": 40.0, "sex": "f"})
    assert np.isfinite(stream.forecast("new", [2.0], controls="hold").mean()).all()
    loaded.save(folder.parent / "again")
    for name in ("config.json", "model.safetensors"):
        assert (folder.parent / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_what_is_set_after_a_fit_waits_for_the_next(panel, tmp_path):
    """What is fitted forecasts, is saved and comes back as it was."""
    likelihood = {"a": "gaussian"}
    forecaster = sp.Forecaster(**SIZES, likelihood=likelihood).fit(panel, cutoff=CUTOFF, progress=False)
    expected = mean(forecaster, panel)
    forecaster.set_params(model="gru-d", hidden_size=3, flow_options={"step": 1.0}, precision="float64")
    likelihood["a"] = "student-t"
    np.testing.assert_array_equal(mean(forecaster, panel), expected)
    forecaster.save(tmp_path / "model")
    loaded = sp.load(tmp_path / "model")
    np.testing.assert_array_equal(mean(loaded, panel), expected)
    assert (loaded.model, loaded.hidden_size, loaded.precision) == ("gru-ode-bayes", 8, "float32")
    assert loaded.likelihood == {"a": "gaussian"}
    assert forecaster.get_params()["hidden_size"] == 3


def test_an_existing_folder_is_kept_unless_told_and_only_ours_is_replaced(folder, forecaster, tmp_path):
    with pytest.raises(OptionError, match="exists already: pass force"):
        forecaster.save(folder)
    forecaster.save(folder, force=True)
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter.txt").write_text("years of work")
    with pytest.raises(OptionError, match="was not written by sporadic"):
        forecaster.save(precious, force=True)
    assert (precious / "chapter.txt").read_text() == "years of work"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model", "thesis"]


def test_an_unfitted_forecaster_has_nothing_to_save(tmp_path):
    with pytest.raises(NotFittedError):
        sp.Forecaster().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_part_of_ones_own_is_passed_in_again(panel, tmp_path):
    fitted = sp.Forecaster(**SIZES, dynamics=MinimalGRUODE).fit(panel, cutoff=CUTOFF, progress=False)
    fitted.save(tmp_path / "model")
    with pytest.raises(OptionError, match=r"dynamics=MinimalGRUODE\)"):
        sp.load(tmp_path / "model")
    with pytest.raises(OptionError, match="has no 'flow' of your own"):
        sp.load(tmp_path / "model", flow="exponential")
    loaded = sp.load(tmp_path / "model", dynamics=MinimalGRUODE)
    np.testing.assert_array_equal(mean(loaded, panel), mean(fitted, panel))


BROKEN = {
    "There is no model folder": lambda f: shutil.rmtree(f),
    "config.json' does not exist": lambda f: (f / "config.json").unlink(),
    "do not exist": lambda f: (f / "model.safetensors").unlink(),
    "cannot be read as JSON": lambda f: (f / "config.json").write_bytes(b'{"format": 1, '),
    "holds no JSON object": lambda f: (f / "config.json").write_text("[1]"),
    "has format 99": lambda f: edit(f, format=99),
    "config.json' was damaged or changed": lambda f: (f / "config.json").write_text(
        (f / "config.json").read_text().replace('"location": ', '"location": 1')
    ),
    "do not have the size": lambda f: (f / "model.safetensors").write_bytes(
        (f / "model.safetensors").read_bytes()[:200]
    ),
    "were damaged or changed": lambda f: (f / "model.safetensors").write_bytes(
        (f / "model.safetensors").read_bytes()[:-1] + b"\xff"
    ),
    "cut or swapped": lambda f: edit(
        f, parameters=json.loads((f / "config.json").read_text())["parameters"] | {"hidden_size": 10**7}
    ),
    "does not describe a model": lambda f: edit(f, variables=[{"name": "a"}]),
    "hidden_size must be at least 1": lambda f: edit(
        f, parameters=json.loads((f / "config.json").read_text())["parameters"] | {"hidden_size": -1}
    ),
    "larger than 64 MB": lambda f: (f / "config.json").write_bytes(b" " * (65 * 2**20)),
}


@pytest.mark.parametrize("said", BROKEN)
def test_a_folder_that_is_not_right_is_refused_in_a_sentence(folder, said):
    BROKEN[said](folder)
    with pytest.raises((FileError, OptionError)) as told:
        sp.load(folder)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_weights_of_another_model_are_refused(folder, forecaster):
    arrays = safetensors.numpy.load_file(folder / "model.safetensors")
    arrays["f_obs.out.bias"] = arrays["f_obs.out.bias"][::-1].copy().reshape(2, -1)
    content = safetensors.numpy.save(arrays)
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(FileError):
        sp.load(folder)


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10**12) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("parameters", "variables", "static", "controls", "time", "columns", "frame", "history", "weights", "format")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from(KEYS), what=junk, data=st.data())
def test_a_sealed_but_senseless_configuration_is_a_typed_error_or_a_model(folder, panel, key, what, data):
    """Whole entries replaced, or one value deep inside one of them."""
    original = (folder / "config.json").read_text()
    try:
        entry = json.loads(original)[key]
        if isinstance(entry, dict) and entry and data.draw(st.booleans()):
            entry[data.draw(st.sampled_from(sorted(entry)))] = what
            what = entry
        elif isinstance(entry, list) and entry and isinstance(entry[0], dict) and data.draw(st.booleans()):
            entry[0][data.draw(st.sampled_from(sorted(entry[0])))] = what
            what = entry
        edit(folder, **{key: what})
        try:
            loaded = sp.load(folder)
        except SporadicError:
            return
        assert isinstance(loaded, sp.Forecaster)
    finally:
        (folder / "config.json").write_text(original)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_and_cut_bytes_never_pass(folder, data):
    name = data.draw(st.sampled_from(["config.json", "model.safetensors"]))
    path = folder / name
    original = path.read_bytes()
    at = data.draw(st.integers(0, len(original) - 1))
    cut = original[:at] if data.draw(st.booleans()) else original[:at] + bytes([original[at] ^ 1]) + original[at + 1 :]
    try:
        path.write_bytes(cut)
        with pytest.raises((FileError, OptionError)):
            sp.load(folder)
    finally:
        path.write_bytes(original)


def test_datetimes_text_ids_and_polars_survive(tmp_path):
    import polars as pl

    table = pd.DataFrame(
        {
            "patient": np.repeat([f"p{i}" for i in range(8)], 5),
            "when": pd.date_range("2024-01-01", periods=40, freq="6h", tz="Europe/Brussels"),
            "x": np.exp(np.sin(np.arange(40.0))),
        }
    )
    panel = sp.Panel.from_wide(pl.from_pandas(table), id="patient", time="when")
    fitted = sp.Forecaster("last-value", likelihood="log-normal", calendar="day").fit(panel)
    fitted.save(tmp_path / "model")
    loaded = sp.load(tmp_path / "model")
    assert loaded.template_.axis == fitted.template_.axis
    one, other = (f.forecast(panel, horizon="1d", steps=2).to_frame() for f in (fitted, loaded))
    assert isinstance(one, pl.DataFrame)
    assert one.equals(other)
    assert loaded.scaling_.likelihoods == {"x": "log-normal"}
