"""`sporadic simulate ou --out ou.parquet`"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from sporadic.commands.output import Force, check_file, console, write_table
from sporadic.errors import OptionError

if TYPE_CHECKING:
    from sporadic.data.panel import Panel


def simulate(
    name: Literal["ou", "brusselator", "pbc"],
    /,
    *,
    out: Path,
    n: int | None = None,
    setting: Literal["random-r", "random-lag", "independent", "random-theta"] | None = None,
    seed: Annotated[int | None, Parameter(negative=())] = None,
    layout: Literal["wide", "long"] = "wide",
    force: Force = False,
) -> int:
    """Writes a data set to try things on: two that are simulated, and real visits of liver patients.

    ou: correlated Ornstein-Uhlenbeck pairs. brusselator: a noisy chemical oscillator. pbc: the Mayo Clinic trial in
    primary biliary cirrhosis, which comes with the package.

    ```
    sporadic simulate ou --out ou.parquet
    sporadic simulate brusselator --n 200 --seed 1 --layout long --out brusselator.csv
    sporadic simulate pbc --out pbc.csv
    ```

    Args:
        name: Which data set.
        out: A .csv, .tsv, .csv.gz, .tsv.gz or .parquet file to write to.
        n: How many series; by default 10,000 of ou, 1,000 of brusselator.
        setting: Which kind of ou; by default random-r.
        seed: Of everything random; by default 0.
        layout: A row per time point, or a row per value.
    """
    asked = {"n": n, "setting": setting, "seed": seed}
    given = {option: value for option, value in asked.items() if value is not None}
    possible = {"ou": {"n", "setting", "seed"}, "brusselator": {"n", "seed"}, "pbc": set()}[name]
    for option in given:
        if option not in possible:
            raise OptionError(f"{name} has no --{option}.")
    check_file(out, force=force)
    panel, table, hint = _pbc(layout) if name == "pbc" else _simulated(name, layout, given)
    write_table(table, out)
    screen = console()
    screen.print(f"Wrote {panel!r} to {str(out)!r}. Next:", soft_wrap=True)
    screen.print(f"  sporadic fit {out} {hint} --out model", soft_wrap=True, markup=False)
    return 0


def _simulated(name: str, layout: str, options: dict[str, Any]) -> "tuple[Panel, Any, str]":
    """The panel, its table, and how to read that table."""
    from sporadic.datasets import brusselator, ou

    panel = ou(**options) if name == "ou" else brusselator(**options)
    end, _ = panel.end
    table = panel.to_long() if layout == "long" else panel.to_wide()
    return panel, table, f"--origin 0 --end {end.max():g} --time-scale {panel.time_scale:g}"


def _pbc(layout: str) -> "tuple[Panel, Any, str]":
    from sporadic.datasets import pbc
    from sporadic.datasets.pbc import STATIC, visits

    panel = pbc()
    if layout == "long":
        return panel, panel.to_long(), "--time day --origin 0"
    covariates = ",".join((*STATIC, "futime"))
    names = ",".join(panel.variables)
    return panel, visits(), f"--time day --variables {names} --static {covariates} --origin 0 --end futime"
