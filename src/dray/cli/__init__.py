"""The `dray` command: settings, wiring, and nothing that decides."""
