"""The tour of `dray demo`."""
