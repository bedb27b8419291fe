"""Capacity and cost model: the real write path in virtual time, with S3's latency and prices."""

from benchmarks.capacity.benchmark import FULL, QUICK, Scale, run

__all__ = ["FULL", "QUICK", "Scale", "run"]
