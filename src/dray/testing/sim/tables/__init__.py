"""Seeded simulation of topics with tables: compaction, retention and sweeps beside readers of both."""

from dray.testing.sim.tables.invariants import Counts
from dray.testing.sim.tables.world import TableVerdict, simulate_tables

__all__ = ["Counts", "TableVerdict", "simulate_tables"]
