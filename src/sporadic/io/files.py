"""Files and folders that are either whole or not there, and JSON in them."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


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
