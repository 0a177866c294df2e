"""`sporadic describe data.csv`"""

from pathlib import Path

from sporadic.commands.data_options import DEFAULTS, DataOptions


def describe(path: Path, /, *, data: DataOptions = DEFAULTS) -> int:
    """Lists all problems of a data file, and the shape of its data.

    The file is long when it has the variable and value columns, otherwise wide: a row per time point, a column per
    variable. The exit code is 2 if there are problems.

    ```
    sporadic describe visits.csv
    sporadic describe visits.csv --id patient --time day --static age,sex
    ```

    Args:
        path: A CSV, TSV (both also gzipped) or Parquet file, or a folder that sporadic prepare wrote.
    """
    from rich.console import Console

    description = data.describe(path)
    Console(highlight=False).print(description)
    return 2 if description.problems else 0
