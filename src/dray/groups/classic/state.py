"""What is stored of a group of the classic protocol.

    Empty ──▶ PreparingRebalance ──▶ CompletingRebalance ──▶ Stable
      ▲           │        ▲                  │                │
      └───────────┘        └──────────────────┴────────────────┘

- *Empty*: no members; it may own committed offsets.
- *PreparingRebalance*: joins are collected and wait. Who has joined is `joining`.
- *CompletingRebalance*: a new generation; joins are answered, syncs wait for the leader's. Who has sent one
  is `synced`.
- *Stable*: the leader's assignment is stored.

A group without a value is dead. Nothing here is remembered of sockets or of time that has passed: answers and
timers are derived from these values by any broker (`settling`, `timers`). Values are never changed in place.

The order of `members` is that of their coming; the first one leads.
"""

from enum import Enum

from msgspec import Struct

Protocols = tuple[tuple[str, bytes], ...]
"""Name and metadata, the one liked best first."""


class Phase(Enum):
    """Where a group stands; the values are the names that Kafka shows."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


class Member(Struct, frozen=True, array_like=True):
    """One member. Client id and host stay those of its first join, as in Kafka."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    broker: int
    """The broker it last called, which keeps its session."""
    assignment: bytes = b""
    """What the last leader gave it; that of an older generation until the phase is Stable."""
    joining: bool = False
    """Its join waits. Only while the group prepares a rebalance."""
    synced: bool = False
    """It has asked for the assignment of this generation."""
    is_new: bool = False
    """It has never been in a generation, and perhaps nobody knows its id."""
    session: int = 0
    """Grows whenever its session starts anew otherwise than by a call; the stamp of its timers."""


class InitialDelay(Struct, frozen=True, array_like=True):
    """How long a group that was empty goes on waiting for more members."""

    delay_ms: int
    remaining_ms: int
    """By how much it may still be put off."""
    put_off: bool = False
    """Somebody came during this delay."""


class ClassicGroup(Struct, frozen=True, array_like=True, tag="g1"):
    """A group of the classic protocol, all in one value."""

    phase: Phase
    generation: int
    protocol_type: str | None
    """Of the first member; None until there was one. It outlives the members."""
    protocol: str | None
    """Chosen for this generation."""
    leader: str | None
    members: dict[str, Member]
    pending: dict[str, int]
    """Ids that were given out and not yet come back with; the session timeout asked for."""
    initial: InitialDelay | None
    """Set while the rebalance that ended an empty phase is prepared."""
    turn: int
    """Grows whenever a phase, or the waiting in it, starts anew; the stamp of the group's timers."""
    changed_at_ms: int
    """When the phase last changed; so for an empty group: since when."""


def simple(now_ms: int) -> ClassicGroup:
    """A group nobody ever joined: what a commit by an admin, or the first join, makes."""
    return ClassicGroup(Phase.EMPTY, 0, None, None, None, {}, {}, None, 0, now_ms)
