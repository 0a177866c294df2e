"""`sporadic models`"""


def models() -> int:
    """Lists the models, with their parts and how many parameters they have on data of five variables."""
    import equinox as eqx
    import jax
    import jax.random as jr
    from rich.console import Console
    from rich.table import Table

    from sporadic.models.gru_ode_bayes import RECIPES
    from sporadic.scaling import Dimensions

    table = Table(title="Models (parameters: 5 variables, hidden size 50)")
    for column in ("model", "dynamics", "flow", "update", "parameters"):
        table.add_column(column, justify="right" if column == "parameters" else "left", no_wrap=True)
    for name, recipe in RECIPES.items():
        weights = jax.tree.leaves(
            eqx.filter(recipe.build(Dimensions(variables=5), key=jr.key(0)), eqx.is_inexact_array)
        )
        table.add_row(name, recipe.dynamics, recipe.flow, recipe.update, f"{sum(w.size for w in weights):,}")
    Console().print(table)
    return 0
