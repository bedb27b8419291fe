"""Consumer groups, simulated: several brokers on a faulty store, members that come, go and die."""

from dray.testing.group_sim.world import Verdict, simulate

__all__ = ["Verdict", "simulate"]
