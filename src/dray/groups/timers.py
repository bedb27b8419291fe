"""Timers of a group: derived from its state, never set by a machine.

After every change the host compares the timers that the group asks for with those that run: it starts the new
ones and stops the others. When one fires, the machine returns the group that follows. No timestamp crosses
brokers: a broker that takes over a timer starts it in full.
"""

from enum import Enum, auto
from typing import NamedTuple


class TimerKind(Enum):
    """The limit that a timer enforces."""

    SESSION = auto()
    """A member has to send a request; each request restarts it."""
    NEW_MEMBER = auto()
    """The first join of a member has to be answered."""
    PENDING_MEMBER = auto()
    """A client that was assigned a member id has to join with it."""
    INITIAL_DELAY = auto()
    """A group that was empty waits for more members."""
    JOIN_PHASE = auto()
    """All members have to join again."""
    SYNC_PHASE = auto()
    """All members have to fetch their assignment."""
    REVOCATION = auto()
    """A member has to revoke partitions."""
    CLASSIC_JOIN = auto()
    """A classic member of a consumer group has to join again."""
    CLASSIC_SYNC = auto()
    """A classic member of a consumer group has to fetch its assignment."""


class Timer(NamedTuple):
    """Identity of a timer."""

    kind: TimerKind
    member_id: str
    token: int
    """A generation, epoch or count that distinguishes timers of the same kind and member apart."""


class TimerSpec(NamedTuple):
    """A timer that has to run, for how long, and on which broker (None: the group's owner broker)."""

    timer: Timer
    delay_ms: int
    broker: int | None
