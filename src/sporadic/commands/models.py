"""`sporadic models`"""


def models() -> int:
    """Lists the models, with their parts and how many parameters they have on data of five variables.

    ```
    sporadic models
    ```
    """
    from rich.table import Table

    from sporadic.commands.output import console
    from sporadic.models import build, names
    from sporadic.models.gru_ode_bayes import RECIPES
    from sporadic.models.sizing import n_parameters
    from sporadic.scaling import Dimensions

    table = Table(title="Models (parameters: 5 variables, hidden size 50)")
    for column in ("model", "dynamics", "flow", "update", "parameters"):
        table.add_column(column, justify="right" if column == "parameters" else "left", no_wrap=True)
    for name in names():
        size = n_parameters(lambda key, name=name: build(name, Dimensions(variables=5), key=key))
        recipe = RECIPES.get(name)
        parts = (recipe.dynamics, recipe.flow, recipe.update) if recipe else ("-", "-", "-")
        table.add_row(name, *parts, f"{size:,}")
    console().print(table)
    return 0
