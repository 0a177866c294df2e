"""A model run over a panel, and scored."""
