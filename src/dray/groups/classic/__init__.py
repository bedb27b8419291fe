"""The classic protocol, in which a client, the leader, computes the assignment. Pure."""

from dray.groups.classic.completion import try_complete
from dray.groups.classic.join import join
from dray.groups.classic.members import after_commit, commit_error, heartbeat, leave, sync
from dray.groups.classic.protocols import is_subscribed, parse_topics, select, subscribed_topics
from dray.groups.classic.rebalance import rebalance
from dray.groups.classic.state import (
    ClassicGroup,
    InitialDelay,
    Member,
    Phase,
    new_group,
    take_over_members,
)
from dray.groups.classic.timers import NEW_MEMBER_JOIN_TIMEOUT_MS, fire, timers
from dray.groups.classic.view import (
    GroupDescription,
    MemberDescription,
    delete_error,
    describe,
    is_empty,
    is_simple,
    offset_delete_error,
    state_name,
)

__all__ = [
    "NEW_MEMBER_JOIN_TIMEOUT_MS",
    "ClassicGroup",
    "GroupDescription",
    "InitialDelay",
    "Member",
    "MemberDescription",
    "Phase",
    "after_commit",
    "commit_error",
    "delete_error",
    "describe",
    "fire",
    "heartbeat",
    "is_empty",
    "is_simple",
    "is_subscribed",
    "join",
    "leave",
    "new_group",
    "offset_delete_error",
    "parse_topics",
    "rebalance",
    "select",
    "state_name",
    "subscribed_topics",
    "sync",
    "take_over_members",
    "timers",
    "try_complete",
]
