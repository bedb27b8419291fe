"""Garbage collection, retention and orphans: plans, and the workers that carry them out."""

from dray.sweep.plan import KEEP_FOR_EVER, RetentionPolicy, retained_from
from dray.sweep.retention import PolicyOf, Retention
from dray.sweep.wal import Swept, WalSweep

__all__ = ["KEEP_FOR_EVER", "PolicyOf", "Retention", "RetentionPolicy", "Swept", "WalSweep", "retained_from"]
