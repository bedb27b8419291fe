"""Profiles of coordinators: the same limits for Apache Kafka and for Dray.

A profile is a `GroupLimits`, whose fields are mapped to Kafka's keys. Limits that no scenario depends on are
Kafka's defaults. Every profile costs a start of Kafka when recording, so there are few.
"""

from typing import Final

from msgspec.structs import asdict

from dray.groups.limits import GroupLimits

PROFILES: Final = {
    "plain": GroupLimits(
        min_session_timeout_ms=500, initial_rebalance_delay_ms=0, consumer_assignment_interval_ms=0
    ),
    "delayed": GroupLimits(min_session_timeout_ms=500, initial_rebalance_delay_ms=3_000),
    "small": GroupLimits(
        min_session_timeout_ms=500,
        initial_rebalance_delay_ms=0,
        group_max_size=2,
        consumer_group_max_size=2,
        consumer_assignment_interval_ms=0,
    ),
    "brief": GroupLimits(
        min_session_timeout_ms=500,
        initial_rebalance_delay_ms=0,
        consumer_session_timeout_ms=3_000,
        consumer_min_session_timeout_ms=100,
        consumer_heartbeat_interval_ms=500,
        consumer_min_heartbeat_interval_ms=50,
        consumer_assignment_interval_ms=0,
    ),
    "spaced": GroupLimits(initial_rebalance_delay_ms=0, consumer_assignment_interval_ms=4_000),
    **{
        policy: GroupLimits(
            initial_rebalance_delay_ms=0,
            consumer_assignment_interval_ms=0,
            consumer_migration_policy=policy,
        )
        for policy in ("upgrade", "downgrade", "disabled")
    },
}

_KAFKA_KEYS: Final = {
    "min_session_timeout_ms": "group.min.session.timeout.ms",
    "max_session_timeout_ms": "group.max.session.timeout.ms",
    "initial_rebalance_delay_ms": "group.initial.rebalance.delay.ms",
    "group_max_size": "group.max.size",
    "consumer_session_timeout_ms": "group.consumer.session.timeout.ms",
    "consumer_heartbeat_interval_ms": "group.consumer.heartbeat.interval.ms",
    "consumer_group_max_size": "group.consumer.max.size",
    "consumer_assignment_interval_ms": "group.consumer.assignment.interval.ms",
    "consumer_regex_refresh_interval_ms": "group.consumer.regex.refresh.interval.ms",
    "consumer_migration_policy": "group.consumer.migration.policy",
    "offset_metadata_max_bytes": "offset.metadata.max.bytes",
    "offsets_retention_check_interval_ms": "offsets.retention.check.interval.ms",
}
_BROKER_SETTINGS: Final = {
    # Lower bounds for the limits of the profiles.
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "50",
    # A single coordinator partition: it is loaded once the first group is served.
    "offsets.topic.num.partitions": "1",
}


def kafka_settings(profile: str) -> dict[str, str]:
    """The profile as Kafka's server properties."""
    limits = asdict(PROFILES[profile])
    return _BROKER_SETTINGS | {key: str(limits[name]) for name, key in _KAFKA_KEYS.items()}
