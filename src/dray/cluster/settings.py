"""Settings of routing."""

from typing import Annotated

from msgspec import Meta, Struct


class RoutingSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which broker serves the records of a partition."""

    enforce_owner: Annotated[
        bool,
        Meta(
            description="Serve Produce and Fetch only at the broker that Metadata names as leader to clients "
            "of that zone; others answer NOT_LEADER_OR_FOLLOWER. Keeps a partition's records in the cache of "
            "one broker per zone. Any broker may serve any partition either way."
        ),
    ] = False
