"""All scenarios, in the order of their modules."""

from tests.groups.golden.registry import SCENARIOS
from tests.groups.golden.scenarios import (
    beating,
    consumer_instances,
    consumer_offsets,
    consumers,
    delays,
    epochs,
    groups,
    instances,
    intervals,
    joining,
    leaving,
    migration,
    mixed,
    offsets,
    policies,
    rejoining,
    requests,
    revoking,
    sessions,
    subscriptions,
    syncing,
)

CLASSIC = (joining, delays, rejoining, syncing, beating, leaving, instances, offsets, groups)
CONSUMER = (
    consumers,
    revoking,
    epochs,
    sessions,
    consumer_instances,
    requests,
    subscriptions,
    consumer_offsets,
    intervals,
)

MIGRATION = (migration, mixed, policies)

__all__ = ["CLASSIC", "CONSUMER", "MIGRATION", "SCENARIOS"]
