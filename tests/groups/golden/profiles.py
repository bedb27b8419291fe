"""How the coordinator of a scenario is set: the same limits for Apache Kafka and for Dray.

A profile is a `GroupLimits`; what Kafka calls its fields is said here. Limits that no scenario waits for are
Kafka's defaults. Every profile costs a start of Kafka when it is recorded, so there are few.
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
        max_size=2,
        consumer_max_size=2,
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

_KAFKAS_NAMES: Final = {
    "min_session_timeout_ms": "group.min.session.timeout.ms",
    "max_session_timeout_ms": "group.max.session.timeout.ms",
    "initial_rebalance_delay_ms": "group.initial.rebalance.delay.ms",
    "max_size": "group.max.size",
    "consumer_session_timeout_ms": "group.consumer.session.timeout.ms",
    "consumer_heartbeat_interval_ms": "group.consumer.heartbeat.interval.ms",
    "consumer_max_size": "group.consumer.max.size",
    "consumer_assignment_interval_ms": "group.consumer.assignment.interval.ms",
    "consumer_regex_refresh_interval_ms": "group.consumer.regex.refresh.interval.ms",
    "consumer_migration_policy": "group.consumer.migration.policy",
    "offset_metadata_max_bytes": "offset.metadata.max.bytes",
    "offsets_retention_check_interval_ms": "offsets.retention.check.interval.ms",
}
_ROOM: Final = {
    # Below these no broker lets one go.
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "50",
    # One partition of coordinators: it has been loaded once the first group is served.
    "offsets.topic.num.partitions": "1",
}


def kafka_settings(profile: str) -> dict[str, str]:
    """The profile as lines of server.properties."""
    limits = asdict(PROFILES[profile])
    return _ROOM | {kafkas: str(limits[ours]) for ours, kafkas in _KAFKAS_NAMES.items()}
