"""`sporadic prepare ushcn RAW_DIR --out ushcn`"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from sporadic.commands.output import Force, check_folder, console
from sporadic.errors import OptionError

if TYPE_CHECKING:
    from sporadic.datasets.prepare.folder import Prepared
    from sporadic.io.progress import Progress

Seed = Annotated[int, Parameter(negative=(), help="Of the folds, and of whatever else is drawn at random.")]
Out = Annotated[Path, Parameter(help="The folder to write to: Parquet, JSON and the ledger.")]

prepare = App(
    name="prepare",
    help="Prepares a public data set from its raw files, and shows what each step leaves of it.",
)


@prepare.command
def ushcn(raw: Path, /, *, out: Out, fraction: float = 0.05, seed: Seed = 0, force: Force = False) -> int:
    """Daily weather of US stations: USHCN state files or GHCN-Daily station files, and ushcn-stations.txt.

    Time runs from 0 to 200, the last four years up to the end of 2000; a year is 49.02. Values are in mm and °C.

    ```
    sporadic prepare ushcn downloads/ghcnd_hcn --out ushcn
    ```

    Args:
        raw: The folder of *.dly or state??_??.txt files (plain or .gz), at any depth.
        fraction: The share of each station's values, element by element, that is kept.
    """
    from sporadic.datasets.prepare import ushcn

    return _prepare(
        "ushcn", raw, out, seed, force, {"fraction": fraction}, ushcn.input_files,
        lambda progress: ushcn.prepare(raw, fraction=fraction, seed=seed, progress=progress), "--cutoff 150 --next-k 3",
    )  # fmt: skip


@prepare.command
def physionet2012(raw: Path, /, *, out: Out, seed: Seed = 0, force: Force = False) -> int:
    """The first 48 hours of 12,000 stays in intensive care (PhysioNet Challenge 2012). Time is in hours.

    ```
    sporadic prepare physionet2012 downloads/challenge-2012 --out p12
    ```

    Args:
        raw: The folder with set-a, set-b and set-c (unpacked or .tar.gz) and Outcomes-?.txt, at any depth.
    """
    from sporadic.datasets.prepare import physionet2012

    return _prepare(
        "physionet2012", raw, out, seed, force, {}, physionet2012.input_files,
        lambda progress: physionet2012.prepare(raw, progress=progress), "--cutoff 36 --next-k 3",
    )  # fmt: skip


@prepare.command
def mimic3(
    raw: Path,
    /,
    *,
    out: Out,
    bins: bool = True,
    variables: Path | None = None,
    unprinted: Annotated[bool, Parameter(negative=())] = False,
    systems: Literal["metavision", "all"] = "metavision",
    memory_limit: str | None = None,
    threads: int | None = None,
    scratch: Path | None = None,
    seed: Seed = 0,
    force: Force = False,
) -> int:
    """The first 48 hours of admissions in MIMIC-III, for which access must be requested at PhysioNet.

    Time is in half hours since admission. The tables are read by DuckDB and need not fit into memory.

    ```
    sporadic prepare mimic3 downloads/mimiciii --out mimic3 --memory-limit 4GB
    ```

    Args:
        raw: The folder of CSV tables as PhysioNet distributes them, plain or .gz.
        bins: Round times to half hours and merge what falls together; otherwise they stay exact.
        variables: A table of variables of your own, instead of the package's.
        unprinted: Also the four variables that the paper counts and does not print.
        systems: Patients of the metavision system, as the paper says, or of both.
        memory_limit: What DuckDB may use, such as 4GB.
        threads: How many threads DuckDB may use; the result is the same with any number.
        scratch: The folder for DuckDB's temporary files.
    """
    from sporadic.datasets.prepare.mimic3 import prepare as mimic3

    options = {"bins": bins, "unprinted": unprinted, "systems": systems, "variables": variables is not None}
    return _prepare(
        "mimic3", raw, out, seed, force, options, lambda raw: mimic3.input_files(raw, variables=variables),
        lambda progress: mimic3.prepare(
            raw, bins=bins, variables=variables, unprinted=unprinted, systems=systems, memory_limit=memory_limit,
            threads=threads, scratch=scratch, progress=progress,
        ), "--cutoff 72 --next-k 3",
    )  # fmt: skip


def _prepare(name: str, raw: Path, out: Path, seed: int, force: bool, options: Mapping[str, Any],
             input_files: Callable[[Path], Sequence[Path]], make: "Callable[[Progress], Prepared]", protocol: str
             ) -> int:  # fmt: skip
    """Makes a prepared folder, unless it is there already, made from the same files in the same way."""
    from sporadic.datasets.prepare.folder import MARK, nothing_to_do, write_prepared
    from sporadic.datasets.prepare.inputs import fingerprints
    from sporadic.io.files import refuse_to_replace
    from sporadic.io.progress import shown

    if seed < 0:
        raise OptionError(f"--seed must be at least 0; got {seed}.")
    files = input_files(raw)
    refuse_to_replace(out, force=True, mark=MARK)
    screen = console()
    with shown() as progress:
        facts = {"options": options, "inputs": fingerprints(files, raw, progress)}
        if nothing_to_do(name, out, seed=seed, force=force, origin_facts=facts):
            screen.print(f"There is nothing to do: {str(out)!r} was made from these files, by this version.")
            return 0
        out.parent.mkdir(parents=True, exist_ok=True)
        check_folder(out.parent)
        prepared = make(progress)
    screen.print(prepared.ledger.table())
    panel = write_prepared(prepared, out, seed=seed, force=force, origin_facts=facts)
    screen.print(f"Wrote {panel!r} to {str(out)!r}. Next:", soft_wrap=True)
    following = f"compare {shlex.quote(str(out))} {protocol}" if panel.folds else f"describe {shlex.quote(str(out))}"
    screen.print(f"  sporadic {following}", soft_wrap=True, markup=False)
    return 0
