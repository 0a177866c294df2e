"""Models and databases that are not what they seem: each is a sentence, and none is believed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sporadic.errors import FileError, SporadicError
from sporadic.server.app import create_app
from sporadic.server.service import Service
from tests.server.direct import Direct

# -- models ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["<img src=x onerror=alert(1)>", "..", "two\nlines", "%2e%2e", "a'; drop table series"]
)
def test_a_model_with_a_hostile_name_is_but_a_name(forecaster, tmp_path: Path, name: str):
    folder = tmp_path / "models" / name
    if name != "..":
        forecaster.save(folder)
    else:
        forecaster.save(tmp_path / "models" / "inner")
        folder = tmp_path / "models" / "inner" / ".." / "inner"
    service = Service.open(folder, f"sqlite:///{tmp_path}/ward.sqlite")
    try:
        answer = Direct(create_app(service)).get("/model")
    finally:
        service.close()
    assert answer.json()["name"] == folder.resolve().name
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


SPOILT: list[Callable[[bytes], bytes]] = [
    lambda old: b"",
    lambda old: old[: len(old) // 2],
    lambda old: b"\x80\x04c__main__\n" + old,
    lambda old: b"[" * 100_000,
    lambda old: old.replace(b"gru-ode-bayes", b"../../etc/pass"),
]


def test_a_model_with_hostile_content_is_a_sentence(model_folder: Path, tmp_path: Path):
    """Whatever is changed in its files: they are sealed, and nothing in them is executed."""
    for file in sorted(each.name for each in model_folder.iterdir() if each.is_file()):
        for number, spoil in enumerate(SPOILT):
            copy = tmp_path / f"{file}-{number}"
            shutil.copytree(model_folder, copy)
            old = (copy / file).read_bytes()
            if spoil(old) == old:
                continue
            (copy / file).write_bytes(spoil(old))
            with pytest.raises(SporadicError) as caught:
                Service.open(copy, f"sqlite:///{tmp_path}/ward.sqlite").close()
            assert str(caught.value).endswith(".")
            assert "\n" not in str(caught.value)


# -- databases ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("sqlite:////nowhere/at/all/ward.sqlite", "There is no folder '/nowhere/at/all'"),
        ("sqlite:////proc/ward.sqlite", "cannot be used"),
        ("mysql://x@y/z", "mysql"),
        ("ward.sqlite", "--database is the address"),
        ("postgresql+psycopg://x:secret@127.0.0.1:1/z", "cannot be used"),
    ],
)
def test_a_database_that_cannot_be_used_is_a_sentence(forecaster, address: str, words: str):
    with pytest.raises(SporadicError) as caught:
        Service(forecaster, address)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_database_is_a_sentence(forecaster, tmp_path: Path):
    (tmp_path / "ward.sqlite").write_bytes(b"anything but a database" * 100)
    with pytest.raises(FileError, match="cannot be used: file is not a database"):
        Service(forecaster, f"sqlite:///{tmp_path}/ward.sqlite")
