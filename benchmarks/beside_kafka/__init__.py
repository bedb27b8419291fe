"""Dray beside Apache Kafka: the same loads by the same clients on the same machine, alternating."""

from benchmarks.beside_kafka.benchmark import Outcome, run, servers_here
from benchmarks.beside_kafka.over_tls import run as run_over_tls
from benchmarks.beside_kafka.scale import FULL, QUICK, Scale

__all__ = ["FULL", "QUICK", "Outcome", "Scale", "run", "run_over_tls", "servers_here"]
