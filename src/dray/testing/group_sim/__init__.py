"""Simulation of consumer groups: several brokers on a faulty store, members that join, leave and crash."""

from dray.testing.group_sim.world import simulate

__all__ = ["simulate"]
