"""`sporadic models`"""


def models() -> int:
    """Lists the models, with their parts and how many parameters they have on data of five variables.

    ```
    sporadic models
    ```
    """
    from rich.table import Table

    from sporadic.commands.output import console
    from sporadic.models import REGISTRY, LastValue, Mean
    from sporadic.models.sizes import Dimensions, n_parameters

    table = Table(title="Models (parameters: 5 variables, hidden size 50)")
    for column in ("model", "parts", "parameters"):
        table.add_column(column, justify="right" if column == "parameters" else "left", no_wrap=True)
    for name, entry in REGISTRY.items():
        is_reference = entry.build in (LastValue.build, Mean.build)  # nothing to train
        size = n_parameters(lambda key, entry=entry: entry.build(Dimensions(variables=5), key=key))
        table.add_row(name, entry.parts, "0" if is_reference else f"{size:,}")
    console().print(table)
    return 0
