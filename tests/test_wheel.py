"""The wheel: complete, and of no use for an extra until one is asked for."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXTRAS = (
    "matplotlib",
    "tensorboard",
    "mlflow",
    "polars",
    "pyarrow",
    "sklearn",
    "statsmodels",
    "scoringrules",
    "pytest",
)

USE = f"""
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {EXTRAS}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refuse())
import sporadic as sp
assert "{{folder}}" in sp.__file__, sp.__file__
assert "jax" not in sys.modules  # nor anything else that is slow
for name in sp.__all__:
    getattr(sp, name)
panel = sp.datasets.pbc()
forecast = sp.Forecaster("last-value").fit(panel).forecast(panel, horizon=365.0, steps=1)
assert len(forecast.to_frame()) == 312 * 12
try:
    forecast.plot(1)
except sp.errors.OptionError as error:
    assert "sporadic[plot]" in str(error)
else:
    raise AssertionError("a plot without matplotlib")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("sporadic-*.whl"))


def test_it_holds_the_package_its_types_and_its_data(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = (ROOT / "src").rglob("*")
    wanted = {str(path.relative_to(ROOT / "src")) for path in sources if path.is_file() and path.suffix != ".pyc"}
    assert wanted <= names
    assert {"sporadic/py.typed", "sporadic/datasets/pbc.csv", "sporadic/datasets/PBC.md"} <= names
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "examples"))]


def test_it_works_without_any_extra(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "bare")
    script = tmp_path / "use.py"
    script.write_text(USE.replace("{folder}", str(tmp_path / "bare")))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": str(tmp_path / "bare"), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
