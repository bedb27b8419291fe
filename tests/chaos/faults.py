"""Faults injected into brokers: each happens at a random moment and is over when its function returns."""

import time
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from tests.chaos.failpoints import POINTS, Point
from tests.chaos.victims import Victim

AT_RANDOM = "at random"
STALLED = "stalled"
_PASSES_MAX = 20


class Outage(NamedTuple):
    """What was done to a broker, and the interval in which it served no requests."""

    cause: str
    since: float
    until: float


Fault = Callable[[Sequence[Victim], Random], Outage]


def kill(victims: Sequence[Victim], random: Random) -> Outage:
    """Kill -9 at a random moment or at a failpoint; with other brokers up, restart it after a delay."""
    return kill_at(random.choice((None, *POINTS)), victims, random)


def kill_at(point: Point | None, victims: Sequence[Victim], random: Random) -> Outage:
    victim, where = random.choice(victims), AT_RANDOM
    if point is None:
        victim.kill()
    elif victim.die_at(point, random.randrange(_PASSES_MAX)):
        where = point
    since = time.monotonic()
    if len(victims) > 1:
        time.sleep(random.uniform(0, 3))  # longer or shorter than its session, which lasts 2 seconds
    until = time.monotonic()
    victim.start()
    return Outage(where, since, until)


def stall(victims: Sequence[Victim], random: Random) -> Outage:
    """Pause for longer than the session and the clients' timeouts, then resume."""
    victim = random.choice(victims)
    victim.pause()
    return _stalled(victim, random)


def stall_between_commits(victims: Sequence[Victim], random: Random) -> Outage:
    """The same outside a commit: a broker paused inside one may block the commits of the others."""
    victim = random.choice(victims)
    victim.pause_between_commits()
    return _stalled(victim, random)


def _stalled(victim: Victim, random: Random) -> Outage:
    since = time.monotonic()
    time.sleep(random.uniform(2.5, 6))
    until = time.monotonic()
    victim.resume()
    return Outage(STALLED, since, until)
