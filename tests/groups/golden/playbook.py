"""All scenarios, ordered by module."""

from tests.groups.golden.registry import SCENARIOS
from tests.groups.golden.scenarios import (
    assignment_intervals,
    consumer_offsets,
    consumer_static_members,
    consumers,
    epochs,
    groups,
    heartbeats,
    initial_delay,
    joining,
    leaving,
    migration,
    migration_policies,
    mixed_groups,
    offsets,
    rejoining,
    requests,
    revoking,
    sessions,
    static_members,
    subscriptions,
    syncing,
)

CLASSIC = (joining, initial_delay, rejoining, syncing, heartbeats, leaving, static_members, offsets, groups)
CONSUMER = (
    consumers,
    revoking,
    epochs,
    sessions,
    consumer_static_members,
    requests,
    subscriptions,
    consumer_offsets,
    assignment_intervals,
)

MIGRATION = (migration, mixed_groups, migration_policies)

__all__ = ["CLASSIC", "CONSUMER", "MIGRATION", "SCENARIOS"]
