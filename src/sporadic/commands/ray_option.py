"""The option of every command whose work can be spread over a cluster."""

from typing import Annotated

from cyclopts import Parameter

Ray = Annotated[str | None, Parameter(help="Spread the work over a Ray cluster: auto, local or an address.")]
