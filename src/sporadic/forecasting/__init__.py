"""The objects that users hold: forecaster, forecast, stream, comparison."""
