"""Garbage collection, retention and orphans: plans, and the workers that carry them out."""

from dray.sweep.domain import DomainSweep
from dray.sweep.plan import KEEP_FOR_EVER, RetentionPolicy, retained_from
from dray.sweep.retention import PolicyOf, Retention
from dray.sweep.topics import TopicPolicies
from dray.sweep.wal import Swept, WalSweep

__all__ = [
    "KEEP_FOR_EVER",
    "DomainSweep",
    "PolicyOf",
    "Retention",
    "RetentionPolicy",
    "Swept",
    "TopicPolicies",
    "WalSweep",
    "retained_from",
]
