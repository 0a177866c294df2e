"""How types are checked while the tests run: an int will do for a float, as Python's own type hints have it."""

from beartype import BeartypeConf, beartype

typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True))
