"""`sporadic models`"""


def models() -> int:
    """Lists the models, with their parts and how many parameters they have on data of five variables.

    ```
    sporadic models
    ```
    """
    import equinox as eqx
    import jax
    import jax.random as jr
    from rich.table import Table

    from sporadic.commands.output import console
    from sporadic.models import build, names
    from sporadic.models.gru_ode_bayes import RECIPES
    from sporadic.scaling import Dimensions

    table = Table(title="Models (parameters: 5 variables, hidden size 50)")
    for column in ("model", "dynamics", "flow", "update", "parameters"):
        table.add_column(column, justify="right" if column == "parameters" else "left", no_wrap=True)
    for name in names():
        network = eqx.filter_eval_shape(lambda key, name=name: build(name, Dimensions(variables=5), key=key), jr.key(0))
        weights = [leaf for leaf in jax.tree.leaves(network) if isinstance(leaf, jax.ShapeDtypeStruct)]
        recipe = RECIPES.get(name)
        parts = (recipe.dynamics, recipe.flow, recipe.update) if recipe else ("-", "-", "-")
        table.add_row(name, *parts, f"{sum(weight.size for weight in weights):,}")
    console().print(table)
    return 0
