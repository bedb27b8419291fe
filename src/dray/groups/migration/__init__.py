"""Groups with members that change over from one protocol to the other, and groups of both. Pure."""

from dray.groups.migration.downgrade import after_departure
from dray.groups.migration.inside import beat, leave, settle, sync
from dray.groups.migration.joins import join
from dray.groups.migration.upgrade import heartbeat_to_classic

__all__ = ["after_departure", "beat", "heartbeat_to_classic", "join", "leave", "settle", "sync"]
