"""Seeded simulation of a cluster: several brokers on faulty stores, with a crash possible at every await."""

from dray.testing.sim.checks import FinalStream, violations
from dray.testing.sim.seeds import Verdict
from dray.testing.sim.world import simulate

__all__ = ["FinalStream", "Verdict", "simulate", "violations"]
