"""Dray beside Apache Kafka: the same loads by the same clients on the same machine, alternating."""

from benchmarks.beside_kafka.benchmark import Outcome, run, servers_here
from benchmarks.beside_kafka.scale import FULL, QUICK, Scale

__all__ = ["FULL", "QUICK", "Outcome", "Scale", "run", "servers_here"]
