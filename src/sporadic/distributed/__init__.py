"""Past one machine: forecasts and training over a Ray cluster. Nothing here is imported unless it is asked for."""
