"""Benchmark of consumer groups on Dray and Apache Kafka: the cost of heartbeats and of a rebalance."""

from benchmarks.groups.benchmark import FULL, QUICK, Scale, run

__all__ = ["FULL", "QUICK", "Scale", "run"]
