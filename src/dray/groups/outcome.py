"""What a machine gives back, and the timers that a state asks for.

    (group, ask) ─▶ Outcome(group, reply)

A machine changes nothing by itself. It returns the group as it is to be stored (the very same object when
nothing changes) and the reply that may be sent once that is durable. A reply that has to wait for others is
*parked*: after every change of the group, whoever holds the socket asks the machine whether it is settled.

Timers are not set by anyone: which ones run follows from the group alone. A timer that appears is started,
one that disappears is stopped, and when one fires the machine is asked what becomes of the group. No time of
day is compared between brokers: whoever runs a timer starts it in full when it first sees it.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, NamedTuple, TypeVar

G_co = TypeVar("G_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Parked:
    """A join or a sync that waits for others."""

    member_id: str
    instance_id: str | None
    sync_of: int | None = None
    """The generation, if it is a sync."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[G_co, R_co]):
    """The group as it is to be stored (None: there is none), and what to answer then."""

    group: G_co
    reply: R_co


class TimerKind(Enum):
    """What it is that must not take longer."""

    SESSION = auto()
    """A member has to call; whoever keeps the session starts this anew with each call."""
    NEW_MEMBER = auto()
    """One who joins for the first time has to be let in."""
    PENDING_MEMBER = auto()
    """One who was given an id has to come back with it."""
    INITIAL_DELAY = auto()
    """A group that was empty waits for more members."""
    JOIN_PHASE = auto()
    """All members have to join again."""
    SYNC_PHASE = auto()
    """All members have to fetch their assignment."""
    REVOCATION = auto()
    """A member has to give up partitions."""
    CLASSIC_JOIN = auto()
    """A classic member of a group of the consumer protocol has to join again."""
    CLASSIC_SYNC = auto()
    """A classic member of a group of the consumer protocol has to fetch its assignment."""


class Timer(NamedTuple):
    """A timer's identity. With another stamp (a generation, an epoch, …) it is another timer."""

    kind: TimerKind
    member_id: str
    stamp: int


class TimerAsked(NamedTuple):
    """A timer that is to run, how long, and on which broker (None: the one that looks after the group)."""

    timer: Timer
    after_ms: int
    broker: int | None
