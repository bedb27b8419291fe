"""What can be chosen about groups. The names and defaults are Kafka's, without its dots.

What stands between a `min` and a `max` is what a group has that says nothing else; the two are the bounds for
what is set for a group of its own (`dray.cluster.group_configs`).
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS


class GroupLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Consumer groups: how long what may take, and how many may join."""

    min_session_timeout_ms: Annotated[
        int, Meta(ge=1, description="The shortest session a member of a classic group may ask for.")
    ] = 6_000
    max_session_timeout_ms: Annotated[
        int, Meta(ge=1, description="The longest session a member of a classic group may ask for.")
    ] = 30 * _MINUTE_MS
    initial_rebalance_delay_ms: Annotated[
        int, Meta(ge=0, description="How long an empty classic group waits for more members to join.")
    ] = 3_000
    max_size: Annotated[int, Meta(ge=1, description="The most members of a classic group.")] = 2**31 - 1
    consumer_session_timeout_ms: Annotated[
        int, Meta(ge=1, description="How long a member of the consumer protocol may be silent.")
    ] = 45_000
    consumer_min_session_timeout_ms: Annotated[
        int, Meta(ge=1, description="The shortest such silence that may be allowed to one group.")
    ] = 45_000
    consumer_max_session_timeout_ms: Annotated[
        int, Meta(ge=1, description="The longest such silence that may be allowed to one group.")
    ] = 60_000
    consumer_heartbeat_interval_ms: Annotated[
        int, Meta(ge=1, description="How often members of the consumer protocol are told to call.")
    ] = 5_000
    consumer_min_heartbeat_interval_ms: Annotated[
        int, Meta(ge=1, description="The shortest interval between calls that may be set for one group.")
    ] = 5_000
    consumer_max_heartbeat_interval_ms: Annotated[
        int, Meta(ge=1, description="The longest interval between calls that may be set for one group.")
    ] = 15_000
    consumer_max_size: Annotated[
        int, Meta(ge=1, description="The most members of a group of the consumer protocol.")
    ] = 2**31 - 1
    consumer_assignment_interval_ms: Annotated[
        int, Meta(ge=0, description="The shortest time between two assignments of a group.")
    ] = 1_000
    consumer_min_assignment_interval_ms: Annotated[
        int, Meta(ge=0, description="The least that may be set for one group as that time.")
    ] = 0
    consumer_max_assignment_interval_ms: Annotated[
        int, Meta(ge=0, description="The most that may be set for one group as that time.")
    ] = 15_000
    consumer_regex_refresh_interval_ms: Annotated[
        int, Meta(ge=10_000, description="How often a subscription by pattern is matched anew at least.")
    ] = 10 * _MINUTE_MS
    consumer_migration_policy: Annotated[
        Literal["bidirectional", "upgrade", "downgrade", "disabled"],
        Meta(description="Between which protocols a group with members may change over."),
    ] = "bidirectional"
    offset_metadata_max_bytes: Annotated[
        int, Meta(ge=0, description="The longest note that may be committed with an offset.")
    ] = 4_096
    offsets_retention_ms: Annotated[
        int, Meta(ge=1, description="How long committed offsets outlive the last use of them.")
    ] = 7 * _DAY_MS
    offsets_retention_check_interval_ms: Annotated[
        int, Meta(ge=1, description="How often offsets are looked through for expired ones.")
    ] = 10 * _MINUTE_MS
    lag_interval_ms: Annotated[
        int, Meta(ge=0, description="How often the lag of groups is measured, for the metrics; 0: never.")
    ] = 30_000

    def __post_init__(self) -> None:
        self._require("min_session_timeout_ms", "max_session_timeout_ms")
        for what in ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms"):
            least, usual, most = f"consumer_min_{what}", f"consumer_{what}", f"consumer_max_{what}"
            self._require(least, most)
            self._require(least, usual)
            self._require(usual, most)
        session_ms, interval_ms = self.consumer_session_timeout_ms, self.consumer_heartbeat_interval_ms
        if session_ms <= interval_ms:
            raise ValueError(
                f"consumer_session_timeout_ms is {session_ms}, and must be more than "
                f"consumer_heartbeat_interval_ms, which is {interval_ms}"
            )

    def _require(self, least: str, most: str) -> None:
        if getattr(self, least) > getattr(self, most):
            raise ValueError(
                f"{least} is {getattr(self, least)}, and must not be more than {most}, "
                f"which is {getattr(self, most)}"
            )
