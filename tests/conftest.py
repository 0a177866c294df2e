"""What every test may ask for: double precision, and data that lives outside the repository."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import jax
import pytest
from hypothesis.configuration import set_hypothesis_home_dir

# Tests compile far more than they compute. So XLA optimises little, here and in processes started here, uses the older
# of its two code generators, which takes half the time, and does not take programs apart to compile the parts at once,
# since there is a test for every core; tests/models/test_filter.py compiles as users do.
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
jax.config.update("jax_disable_most_optimizations", True)
for flag in ("--xla_cpu_use_fusion_emitters=false", "--xla_cpu_parallel_codegen_split_count=1"):
    if flag not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()

# Ray's workers are modest, and beside another process of the tests they would wait most of the time.
os.environ.setdefault("RAY_worker_niceness", "0")

# Every run draws the same examples. The first call of a jitted function compiles it, hence neither a deadline nor a
# judgement on slowness; and `x64`, which a test with @given may use, is the same for all of its examples.
hypothesis.settings.register_profile(
    "sporadic",
    deadline=None,
    derandomize=True,
    max_examples=30,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.load_profile("sporadic")
set_hypothesis_home_dir(Path(sys.prefix) / "hypothesis")  # its other caches, too, stay out of the repository


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Ends with how many tests were skipped, by what they lack."""
    skipped = terminalreporter.stats.get("skipped", ())
    for reason, count in Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped).items():
        terminalreporter.write_line(f"{count} skipped: {reason}", yellow=True)


@pytest.fixture(scope="module", autouse=True)
def _few_programs_at_a_time() -> Iterator[None]:
    """Forgets compiled programs before there are too many: each takes memory maps, and XLA crashes where Linux has no
    more of them to give (`vm.max_map_count`, usually 65,530)."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > 20_000:
        jax.clear_caches()
        gc.collect()


@pytest.fixture
def x64() -> Iterator[None]:
    """Double precision while the test runs; the package itself never asks for it."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder named by SPORADIC_DATA (default: ../shared/data, from the root); skips where it is absent."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SPORADIC_DATA") or beside).resolve()
    if not folder.is_dir():
        pytest.skip(f"This test needs the data folder {folder}, which is absent: name yours in SPORADIC_DATA.")
    return folder


@pytest.fixture(scope="session")
def data_file(data_dir: Path) -> Callable[[str], Path]:
    """`data_file("clinical/survival_pbcseq.csv")` is that file's path; where it is absent the test is skipped."""

    def find(name: str) -> Path:
        path = data_dir / name
        if not path.exists():
            pytest.skip(f"This test needs {name}, which is absent from {data_dir} (the folder named by SPORADIC_DATA).")
        return path

    return find
