"""Growth with the number of partitions and of broker processes, on each metadata store."""

from benchmarks.growth.benchmark import FULL, QUICK, Run, Scale, run

__all__ = ["FULL", "QUICK", "Run", "Scale", "run"]
