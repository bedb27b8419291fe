"""Migration between the protocols, and groups with members of both. Pure."""

from dray.groups.migration.classic_members import heartbeat, leave, sync, try_complete
from dray.groups.migration.downgrade import after_departure
from dray.groups.migration.join import join
from dray.groups.migration.upgrade import consumer_heartbeat

__all__ = ["after_departure", "consumer_heartbeat", "heartbeat", "join", "leave", "sync", "try_complete"]
