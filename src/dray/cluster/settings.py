"""Settings of routing and security."""

from typing import Annotated

from msgspec import Meta, Struct

from dray.acls import super_users


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


class SecuritySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which principals may do what."""

    authorizer_enable: Annotated[
        bool,
        Meta(
            description="Check every request against the ACLs of the cluster (Kafka: "
            "`authorizer.class.name`, a StandardAuthorizer). If false, everything is allowed."
        ),
    ] = False
    super_users: Annotated[
        str | None,
        Meta(
            description="Principals that may do everything (Kafka: `super.users`).",
            extra={"allowed": "principals separated by semicolons, such as User:alice;User:bob"},
        ),
    ] = None
    allow_everyone_if_no_acl_found: Annotated[
        bool,
        Meta(
            description="Allow operations on resources that no ACL matches (Kafka: "
            "`allow.everyone.if.no.acl.found`)."
        ),
    ] = False

    def __post_init__(self) -> None:
        super_users(self.super_users or "")
