"""Several brokers on one machine, each in a process of its own."""

from dray.cli.fleet.plan import BROKERS_MAX, plan_fleet
from dray.cli.fleet.running import run_fleet

__all__ = ["BROKERS_MAX", "plan_fleet", "run_fleet"]
