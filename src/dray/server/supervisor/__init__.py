"""Several brokers on one machine, each in its own process, with a compactor as a sidecar."""

from dray.server.supervisor.plan import BROKERS_MAX, plan_brokers
from dray.server.supervisor.supervisor import run_brokers

__all__ = ["BROKERS_MAX", "plan_brokers", "run_brokers"]
