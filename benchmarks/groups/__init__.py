"""Consumer groups on Dray and on Apache Kafka: what heartbeats cost, and what a rebalance does."""

from benchmarks.groups.benchmark import FULL, QUICK, Scale, run

__all__ = ["FULL", "QUICK", "Scale", "run"]
