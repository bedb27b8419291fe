"""Garbage collection and retention: plans, and the sweeps that carry them out."""

from dray.sweep.domain import DomainSweep
from dray.sweep.plan import KEEP_FOREVER, RetentionPolicy, retained_from
from dray.sweep.retention import PolicyOf, Retention, TopicPolicies
from dray.sweep.wal import Swept, WalSweep

__all__ = [
    "KEEP_FOREVER",
    "DomainSweep",
    "PolicyOf",
    "Retention",
    "RetentionPolicy",
    "Swept",
    "TopicPolicies",
    "WalSweep",
    "retained_from",
]
