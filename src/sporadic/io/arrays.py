"""Trees of arrays in safetensors files, and back: nothing that is read here can execute code."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import safetensors
import safetensors.numpy

from sporadic.errors import FileError
from sporadic.io.files import (
    _SEALED,
    write_file,
)


# -- arrays ------------------------------------------------------------------------------------------------------------
def named_arrays(tree: Any) -> dict[str, np.ndarray]:
    """The arrays of a tree by their paths in it, such as `f_obs.out.bias`."""
    return {_name(path): np.asarray(leaf) for path, leaf in _leaves(tree)}


def fill(tree: Any, arrays: Mapping[str, np.ndarray], what: str, *, on_host: bool = False) -> Any:
    """A tree with its arrays (or descriptions of arrays) replaced by named ones of the same shapes and types."""
    make = np.array if on_host else jax.device_put
    wanted = {_name(path): leaf for path, leaf in _leaves(tree)}
    for kind, names in (("lacks", wanted.keys() - arrays.keys()), ("has the unknown", arrays.keys() - wanted.keys())):
        if names:
            raise FileError(f"{what} {kind} array {min(names)!r} ({len(names)} such): it belongs to another model.")
    for name, leaf in wanted.items():
        found = arrays[name]
        if found.shape != leaf.shape or found.dtype != leaf.dtype:
            raise FileError(
                f"{what} holds {name!r} as {found.dtype}{list(found.shape)}, where {leaf.dtype}{list(leaf.shape)} is "
                "needed: it belongs to another model."
            )
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: make(arrays[_name(path)]) if _is_array(leaf) else leaf, tree
    )


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> None:
    """One safetensors file with arrays, facts about them as JSON, and a digest of both."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps(facts, allow_nan=False)
    sealed = json.dumps({"facts": text, "sha256": _seal(arrays, text)})  # one entry: several come in any order
    write_file(path, safetensors.numpy.save(arrays, metadata={_SEALED: sealed}))


def read_arrays(path: Path, what: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `write_arrays` wrote, unless it was cut short or changed since."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            sealed = json.loads((file.metadata() or {})[_SEALED])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        text = sealed["facts"]
        if sealed["sha256"] != _seal(arrays, text):
            raise FileError(f"{what} {str(path)!r} was damaged or changed after it was written.")
        facts = json.loads(text)
    except FileNotFoundError:
        raise FileError(f"{what} {str(path)!r} does not exist.") from None
    except (
        safetensors.SafetensorError,
        OSError,
        TypeError,
        ValueError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as e:
        raise FileError(f"{what} {str(path)!r} cannot be read, it is damaged or not one of ours: {e}.") from None
    if not isinstance(facts, dict):
        raise FileError(f"{what} {str(path)!r} says nothing about its arrays: it is not one of ours.")
    return arrays, facts


def _seal(arrays: Mapping[str, np.ndarray], text: str) -> str:
    seal = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        seal.update(f"{name} {array.dtype} {array.shape}".encode())
        seal.update(array.tobytes())
    return seal.hexdigest()


def _leaves(tree: Any) -> list[tuple[Any, Any]]:
    return [(path, leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree) if _is_array(leaf)]


def _is_array(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, (np.ndarray, jax.ShapeDtypeStruct))


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")
