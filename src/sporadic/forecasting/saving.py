"""A fitted forecaster as a folder: `model.safetensors` with the weights, `config.json` with all the rest.

Loading builds the network anew from its parameters and accepts weights only if they fit it exactly. A part of the
user's own (`dynamics=MyCell`) is code, which a folder cannot carry: it is handed to `load` again.
"""

import json
from collections.abc import Mapping
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from sporadic.data.controls import KINDS, no_controls
from sporadic.data.fingerprint import fingerprint
from sporadic.data.panel import Panel
from sporadic.data.time_axis import TimeAxis
from sporadic.encoding.encoder import Scaling, StaticColumn
from sporadic.errors import FileError, OptionError, SporadicError, one_of, quote
from sporadic.forecasting.code_digest import Code
from sporadic.io.arrays import fill, named_arrays, read_arrays, write_arrays
from sporadic.io.files import digest, new_folder, read_json, write_json
from sporadic.likelihoods.codings import Coding, Given
from sporadic.likelihoods.kinds import Kind, parsed
from sporadic.training.run import Epoch

if TYPE_CHECKING:
    from sporadic.forecasting.forecaster import Forecaster


FORMAT = 2
CONFIG, WEIGHTS = "config.json", "model.safetensors"
_MOST_HEADER = 16 * 2**20  # bytes of a safetensors file that are not weights


def parameters_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a forecaster as JSON; what is not data is named."""
    return {name: _plain(value) for name, value in params.items()}


def configuration_of(forecaster: "Forecaster", training: Panel, validation: Panel, **protocol: Any) -> dict[str, Any]:
    """What a training run depends on, as JSON: code, parameters, data and protocol."""
    return {
        "code": Code.of_model(forecaster.model).digest(),
        **parameters_of(forecaster.get_params()),
        **{name: json.loads(json.dumps(value, default=str)) for name, value in protocol.items()},
        "devices": jax.local_device_count(),
        "training data": fingerprint(training),
        "validation data": fingerprint(validation),
    }


def save_forecaster(forecaster: "Forecaster", folder: Path, *, force: bool) -> None:
    network, scaling, template = forecaster.network_, forecaster.scaling_, forecaster.template_
    assert scaling is not None
    assert template is not None
    assert forecaster.fitted_params_ is not None
    with new_folder(folder, force=force, mark=CONFIG) as new:
        write_arrays(new / WEIGHTS, named_arrays(network), {"format": FORMAT})
        config = {
            "format": FORMAT,
            "sporadic": version("sporadic"),
            "parameters": parameters_of(forecaster.fitted_params_),
            "variables": _variables(scaling),
            "static": [_static(column) for column in scaling.static],
            "controls": _controls(template, scaling),
            "time": {
                "unit": template.axis.unit,
                "timezone": template.axis.timezone,
                "integer": template.axis.integer,
                "model_unit": scaling.time_unit,
                "span": scaling.span,
                "periods": list(scaling.periods),
                "origin": forecaster.origin_,
                "scale": template.time_scale,
            },
            "columns": {role: name if isinstance(name, int) else str(name) for role, name in template.columns.items()},
            "frame": template.backend.value,
            "history": [epoch.to_record() for epoch in forecaster.history],
            "weights": {"count": forecaster.n_parameters_, "sha256": digest((new / WEIGHTS).read_bytes())},
        }
        write_json(new / CONFIG, config | {"sha256": _seal(config)})


def load(folder: str | Path, **parts: Any) -> "Forecaster":
    """The forecaster that was saved in a folder. Parts of your own (dynamics, flow, update) are passed in again."""
    folder = Path(folder)
    if not folder.is_dir():
        raise FileError(f"There is no model folder {str(folder)!r}.")
    config = read_json(folder / CONFIG, "The model's configuration")
    if config.get("format") != FORMAT:
        raise FileError(
            f"The model in {str(folder)!r} has format {quote(config.get('format'))}; this version of sporadic "
            f"({version('sporadic')}) reads format {FORMAT}. Use the version that wrote it: "
            f"{quote(config.get('sporadic'))}."
        )
    if config.pop("sha256", None) != _seal(config):
        raise FileError(f"{str(folder / CONFIG)!r} was damaged or changed after it was written.")
    parameters = _with_parts(config.get("parameters"), parts, folder)
    try:
        return _restore(folder, config, parameters)
    except (SporadicError, OSError):
        raise
    except Exception as error:  # whatever a hostile file may break, the way out is the same
        raise FileError(f"{str(folder / CONFIG)!r} does not describe a model: {error}.") from None


def _restore(folder: Path, config: Mapping[str, Any], parameters: dict[str, Any]) -> "Forecaster":
    from sporadic.forecasting.forecaster import Forecaster

    time = config["time"]
    variables, static, controls = config["variables"], config["static"], config["controls"]
    kinds = tuple(one_of("The kind of a control", each["kind"], KINDS) for each in controls)
    names = tuple(str(each["name"]) for each in controls)
    levels, boluses = ([each for each in controls if (each["kind"] == "bolus") == is_bolus] for is_bolus in (0, 1))
    scaling = Scaling(
        variables=tuple(str(each["name"]) for each in variables),
        codings=tuple(_coding(each) for each in variables),
        time_unit=float(time["model_unit"]),
        span=float(time["span"]),
        levels=tuple(str(each["name"]) for each in levels),
        level_size=_numbers(levels, "size"),
        boluses=tuple(str(each["name"]) for each in boluses),
        bolus_size=_numbers(boluses, "size"),
        static=tuple(
            StaticColumn(str(c["name"]), tuple(map(str, c["levels"])), float(c["location"]), float(c["scale"]))
            for c in static
        ),
        periods=tuple(float(period) for period in time["periods"]),
    )
    none = np.zeros(0, dtype=np.int64)
    axis = TimeAxis(time["unit"], time["timezone"], bool(time["integer"]))
    template = Panel(
        index=pd.Index([], dtype=object), variables=scaling.variables, axis=axis, offsets=np.zeros(1, dtype=np.int64),
        times=none if axis.is_datetime or axis.integer else none.astype(float), starts=np.zeros(1, dtype=np.int64),
        variable=none, value=none.astype(float), controls=no_controls(names, kinds),
        static=pd.DataFrame({c.name: pd.Series(dtype="str" if c.levels else "float64") for c in scaling.static}),
        given_origin=None, given_end=None, time_scale=time["scale"], columns=dict(config["columns"]),
        backend=nw.Implementation.from_string(str(config["frame"])), words=scaling.words,
    )  # fmt: skip
    forecaster = Forecaster(**parameters)
    forecaster.fitted_params_ = forecaster.get_params()
    forecaster.scaling_, forecaster.template_, forecaster.origin_ = scaling, template, time["origin"]
    forecaster.history = [Epoch.from_record(record) for record in config["history"]]
    with forecaster._precisely():
        skeleton = eqx.filter_eval_shape(forecaster._build, scaling)
        forecaster.network_ = fill(skeleton, _weights(folder, config, skeleton), f"The model in {str(folder)!r}")
    return forecaster


def _weights(folder: Path, config: Mapping[str, Any], skeleton: Any) -> dict[str, np.ndarray]:
    path = folder / WEIGHTS
    what = "The weights"
    if not path.is_file():
        raise FileError(f"{what} {str(path)!r} do not exist.")
    needed = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(skeleton) if hasattr(leaf, "dtype"))
    if not needed <= path.stat().st_size <= needed + _MOST_HEADER:
        raise FileError(f"{what} {str(path)!r} do not have the size that the model needs: they were cut or swapped.")
    if digest(path.read_bytes()) != config["weights"]["sha256"]:
        raise FileError(f"{what} {str(path)!r} were damaged or changed after they were written.")
    arrays, _ = read_arrays(path, what)
    return arrays


def _with_parts(parameters: Any, parts: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The stored parameters, completed by the user's own modules."""
    if not isinstance(parameters, dict):
        raise FileError(f"{str(folder / CONFIG)!r} holds no parameters.")
    custom = {n: v["custom"] for n, v in parameters.items() if isinstance(v, dict) and v.keys() == {"custom"}}
    if unknown := parts.keys() - custom.keys():
        raise OptionError(f"The model in {str(folder)!r} has no {quote(min(unknown))} of your own to pass.")
    for name, what in custom.items():
        if name not in parts:
            raise OptionError(
                f"The model in {str(folder)!r} was made with {name}={what}, which a folder cannot carry: pass it "
                f"again, as in sp.load({str(folder)!r}, {name}={str(what).rpartition('.')[2]})."
            )
    return parameters | dict(parts)


def _plain(value: Any) -> Any:
    """A parameter as JSON; what is not data is named."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (timedelta, np.timedelta64)):
        return str(pd.Timedelta(value))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Kind):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        inner = {str(name): _plain(each) for name, each in value.items()}
        if not any(isinstance(each, dict) for each in inner.values()):
            return inner
    kind = value if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")) else type(value)
    return {"custom": f"{kind.__module__}.{kind.__qualname__}"}


def _seal(config: Mapping[str, Any]) -> str:
    return digest(json.dumps(config, sort_keys=True).encode())


def _variables(scaling: Scaling) -> list[dict[str, Any]]:
    return [
        {"name": name, "likelihood": str(coding.kind), "location": coding.location, "scale": coding.scale,
         "spread": coding.spread, "levels": list(coding.levels)}
        for name, coding in zip(scaling.variables, scaling.codings, strict=True)
    ]  # fmt: skip


def _coding(record: Mapping[str, Any]) -> Coding:
    kind = Given() if record["likelihood"] == Given.name else parsed(str(record["likelihood"]))
    levels = tuple(level if isinstance(level, str) else float(level) for level in record.get("levels", ()))
    location, scale, spread = (float(record[name]) for name in ("location", "scale", "spread"))
    return Coding(kind, location, scale, spread, levels)


def _static(column: StaticColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "levels": list(column.levels),
        "location": column.location,
        "scale": column.scale,
    }


def _controls(template: Panel, scaling: Scaling) -> list[dict[str, Any]]:
    size = dict(zip(scaling.levels, scaling.level_size, strict=True))
    size |= dict(zip(scaling.boluses, scaling.bolus_size, strict=True))
    kinds = zip(template.controls.names, template.controls.kinds, strict=True)
    return [{"name": name, "kind": kind, "size": float(size[name])} for name, kind in kinds]


def _numbers(records: list[dict[str, Any]], name: str) -> np.ndarray:
    return np.array([float(record[name]) for record in records], dtype=np.float64)
