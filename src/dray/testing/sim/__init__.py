"""Seeded simulation of a whole cluster: several brokers, faulty stores, a crash possible at every await."""

from dray.testing.sim.checks import Final, violations
from dray.testing.sim.world import Verdict, simulate

__all__ = ["Final", "Verdict", "simulate", "violations"]
