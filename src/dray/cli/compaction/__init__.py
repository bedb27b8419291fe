"""Running a compactor: as a command of its own, and as a child of `dray up`."""
