"""Limits of consumer groups. Names and defaults are Kafka's, with underscores and without `group.`.

A setting with a `min` and a `max` beside it is the default of every group; the two bound what can be
configured for a single group (`dray.cluster.group_configs`).
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

_INT_MAX = 2**31 - 1
"""Kafka's type of these settings, and of the fields of the responses that contain them."""
_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS


class GroupLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Consumer group timeouts and size limits."""

    min_session_timeout_ms: Annotated[
        int,
        Meta(
            ge=1,
            le=_INT_MAX,
            description="Minimum session timeout of a classic member (Kafka: "
            "`group.min.session.timeout.ms`).",
        ),
    ] = 6_000
    max_session_timeout_ms: Annotated[
        int,
        Meta(
            ge=1,
            le=_INT_MAX,
            description="Maximum session timeout of a classic member (Kafka: "
            "`group.max.session.timeout.ms`).",
        ),
    ] = 30 * _MINUTE_MS
    initial_rebalance_delay_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=_INT_MAX,
            description="How long an empty classic group waits for more members before it rebalances "
            "(Kafka: `group.initial.rebalance.delay.ms`).",
        ),
    ] = 3_000
    group_max_size: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum number of members of a classic group (Kafka: `group.max.size`).",
        ),
    ] = _INT_MAX
    consumer_session_timeout_ms: Annotated[
        int,
        Meta(
            ge=1,
            le=_INT_MAX,
            description="Session timeout of consumer protocol members "
            "(Kafka: `group.consumer.session.timeout.ms`).",
        ),
    ] = 45_000
    consumer_min_session_timeout_ms: Annotated[
        int,
        Meta(
            ge=1,
            le=_INT_MAX,
            description="Minimum per-group override of `consumer_session_timeout_ms` "
            "(Kafka: `group.consumer.min.session.timeout.ms`).",
        ),
    ] = 45_000
    consumer_max_session_timeout_ms: Annotated[
        int,
        Meta(
            ge=1,
            le=_INT_MAX,
            description="Maximum per-group override of `consumer_session_timeout_ms` "
            "(Kafka: `group.consumer.max.session.timeout.ms`).",
        ),
    ] = 60_000
    consumer_heartbeat_interval_ms: Annotated[
        int,
        Meta(
            ge=1,
            le=_INT_MAX,
            description="Heartbeat interval of consumer protocol members "
            "(Kafka: `group.consumer.heartbeat.interval.ms`).",
        ),
    ] = 5_000
    consumer_min_heartbeat_interval_ms: Annotated[
        int,
        Meta(
            ge=1,
            le=_INT_MAX,
            description="Minimum per-group override of `consumer_heartbeat_interval_ms` "
            "(Kafka: `group.consumer.min.heartbeat.interval.ms`).",
        ),
    ] = 5_000
    consumer_max_heartbeat_interval_ms: Annotated[
        int,
        Meta(
            ge=1,
            le=_INT_MAX,
            description="Maximum per-group override of `consumer_heartbeat_interval_ms` "
            "(Kafka: `group.consumer.max.heartbeat.interval.ms`).",
        ),
    ] = 15_000
    consumer_group_max_size: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum number of members of a consumer protocol group "
            "(Kafka: `group.consumer.max.size`).",
        ),
    ] = _INT_MAX
    consumer_assignment_interval_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=_INT_MAX,
            description="Minimum time between two target assignments of a group "
            "(Kafka: `group.consumer.assignment.interval.ms`).",
        ),
    ] = 1_000
    consumer_min_assignment_interval_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=_INT_MAX,
            description="Minimum per-group override of `consumer_assignment_interval_ms` "
            "(Kafka: `group.consumer.min.assignment.interval.ms`).",
        ),
    ] = 0
    consumer_max_assignment_interval_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=_INT_MAX,
            description="Maximum per-group override of `consumer_assignment_interval_ms` "
            "(Kafka: `group.consumer.max.assignment.interval.ms`).",
        ),
    ] = 15_000
    consumer_regex_refresh_interval_ms: Annotated[
        int,
        Meta(
            ge=10_000,
            le=_INT_MAX,
            description="How often regex subscriptions are re-evaluated even if no topic changed "
            "(Kafka: `group.consumer.regex.refresh.interval.ms`).",
        ),
    ] = 10 * _MINUTE_MS
    consumer_migration_policy: Annotated[
        Literal["bidirectional", "upgrade", "downgrade", "disabled"],
        Meta(
            description="In which directions groups with members may change protocol "
            "(Kafka: `group.consumer.migration.policy`)."
        ),
    ] = "bidirectional"
    offset_metadata_max_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=_INT_MAX,
            description="Maximum length of the metadata of a committed offset "
            "(Kafka: `offset.metadata.max.bytes`).",
        ),
    ] = 4_096
    offsets_retention_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="How long committed offsets are kept after their last use "
            "(Kafka: `offsets.retention.minutes`).",
        ),
    ] = 7 * _DAY_MS
    offsets_retention_check_interval_ms: Annotated[
        int,
        Meta(
            ge=1,
            description="How often expired offsets are removed (Kafka: "
            "`offsets.retention.check.interval.ms`).",
        ),
    ] = 10 * _MINUTE_MS
    lag_interval_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="How often the lag metrics of groups are measured; 0 disables them.",
        ),
    ] = 30_000

    def __post_init__(self) -> None:
        self._require("min_session_timeout_ms", "max_session_timeout_ms")
        for name in ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms"):
            minimum, default, maximum = f"consumer_min_{name}", f"consumer_{name}", f"consumer_max_{name}"
            self._require(minimum, maximum)
            self._require(minimum, default)
            self._require(default, maximum)
        session_ms, interval_ms = self.consumer_session_timeout_ms, self.consumer_heartbeat_interval_ms
        if session_ms <= interval_ms:
            raise ValueError(
                f"consumer_session_timeout_ms is {session_ms}, and must be more than "
                f"consumer_heartbeat_interval_ms, which is {interval_ms}"
            )

    def _require(self, lower: str, upper: str) -> None:
        if getattr(self, lower) > getattr(self, upper):
            raise ValueError(
                f"{lower} is {getattr(self, lower)}, and must not be more than {upper}, "
                f"which is {getattr(self, upper)}"
            )
