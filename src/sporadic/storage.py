"""Files that are either whole or not there, and arrays in them that are what they claim to be.

Everything is safetensors and JSON: nothing read here can execute code.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pandas as pd
import safetensors
import safetensors.numpy

from sporadic.database import connect
from sporadic.errors import FileError, OptionError

_MOST_JSON = 64 * 2**20  # bytes: what no honest file of ours comes near
_SEALED = "sporadic"


# -- files and folders -------------------------------------------------------------------------------------------------


def write_file(path: Path, content: bytes) -> None:
    """Writes beside, flushes to disk, and renames: a crash leaves what was there before."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        _flush_folder(path.parent)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


@contextmanager
def new_folder(path: Path, *, force: bool, mark: str) -> Iterator[Path]:
    """A folder to fill, which takes its place only when it is complete.

    An existing one is replaced with `force`, and only if it holds the file `mark`, by which we know our own.
    """
    refuse_to_replace(path, force=force, mark=mark)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}-old-", dir=path.parent))
            path.rename(old / "old")
            temporary.rename(path)
            shutil.rmtree(old)
        else:
            temporary.rename(path)
        _flush_folder(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def refuse_to_replace(path: Path, *, force: bool, mark: str | None = None) -> None:
    """An output is never overwritten unasked, and a folder that is not ours never at all."""
    if not path.exists():
        return
    what = "folder" if path.is_dir() else "file"
    if mark is not None and not (path / mark).is_file() and not (path.is_dir() and not any(path.iterdir())):
        raise OptionError(f"The {what} {str(path)!r} exists and was not written by sporadic: choose another name.")
    if not force:
        raise OptionError(f"The {what} {str(path)!r} exists already: pass force (--force) to replace it.")


def read_json(path: Path, what: str) -> dict[str, Any]:
    """An object from a JSON file of a bearable size."""
    try:
        if path.stat().st_size > _MOST_JSON:
            raise FileError(f"{what} {str(path)!r} is larger than {_MOST_JSON >> 20} MB: it is not one of ours.")
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise FileError(f"{what} {str(path)!r} does not exist.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"{what} {str(path)!r} cannot be read as JSON: {error}.") from None
    if not isinstance(content, dict):
        raise FileError(f"{what} {str(path)!r} holds no JSON object.")
    return content


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_file(path, json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False).encode() + b"\n")


def parquet(table: pd.DataFrame) -> bytes:
    """A table as the content of a Parquet file."""
    with tempfile.TemporaryDirectory() as folder, connect() as database:
        path = Path(folder) / "table.parquet"
        database.register("entries", table)
        database.execute(f"copy entries to '{path}' (format parquet)")
        return path.read_bytes()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


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


def _flush_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
