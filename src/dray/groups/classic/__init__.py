"""The classic protocol of consumer groups: the client that leads assigns. Pure."""

from dray.groups.classic.beats import beat
from dray.groups.classic.commits import commit_fault, commits
from dray.groups.classic.joins import join
from dray.groups.classic.leaves import leave
from dray.groups.classic.protocols import select
from dray.groups.classic.rebalance import rebalance
from dray.groups.classic.roster import adopt
from dray.groups.classic.settling import settle
from dray.groups.classic.state import ClassicGroup, InitialDelay, Member, Phase, simple
from dray.groups.classic.subscription import is_subscribed, parse_topics, subscribed_topics
from dray.groups.classic.syncs import sync
from dray.groups.classic.timers import NEW_MEMBER_JOIN_TIMEOUT_MS, fire, timers
from dray.groups.classic.view import (
    ShownGroup,
    ShownMember,
    delete_fault,
    is_empty,
    is_simple,
    offset_delete_fault,
    show,
    state_name,
)

__all__ = [
    "NEW_MEMBER_JOIN_TIMEOUT_MS",
    "ClassicGroup",
    "InitialDelay",
    "Member",
    "Phase",
    "ShownGroup",
    "ShownMember",
    "adopt",
    "beat",
    "commit_fault",
    "commits",
    "delete_fault",
    "fire",
    "is_empty",
    "is_simple",
    "is_subscribed",
    "join",
    "leave",
    "offset_delete_fault",
    "parse_topics",
    "rebalance",
    "select",
    "settle",
    "show",
    "simple",
    "state_name",
    "subscribed_topics",
    "sync",
    "timers",
]
