"""What is done to brokers. A fault happens at a random moment and is over when the function returns."""

import time
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from tests.chaos.doomed import POINTS, Point
from tests.chaos.victims import Victim

AT_RANDOM = "at random"
STALLED = "stalled"
_PASSES_MAX = 20


class Struck(NamedTuple):
    """What happened, in a word or two, and for how long the broker did nothing."""

    what: str
    since: float
    until: float


Fault = Callable[[Sequence[Victim], Random], Struck]


def kill(victims: Sequence[Victim], chosen: Random) -> Struck:
    """Kill -9 at some moment, or at a point of the write path; with others left, stay away for a while."""
    return kill_at(chosen.choice((None, *POINTS)), victims, chosen)


def kill_at(point: Point | None, victims: Sequence[Victim], chosen: Random) -> Struck:
    victim, where = chosen.choice(victims), AT_RANDOM
    if point is None:
        victim.kill()
    elif victim.die_at(point, chosen.randrange(_PASSES_MAX)):
        where = point
    since = time.monotonic()
    if len(victims) > 1:
        time.sleep(chosen.uniform(0, 3))  # longer or shorter than its session, which lasts 2 seconds
    until = time.monotonic()
    victim.start()
    return Struck(where, since, until)


def stall(victims: Sequence[Victim], chosen: Random) -> Struck:
    """Halt for longer than the session lasts and clients wait, then go on as if nothing had happened."""
    victim = chosen.choice(victims)
    victim.halt()
    return _stalled(victim, chosen)


def stall_between_commits(victims: Sequence[Victim], chosen: Random) -> Struck:
    """The same where it holds up nobody: one that is halted in a commit may keep the others from theirs."""
    victim = chosen.choice(victims)
    victim.halt_between_commits()
    return _stalled(victim, chosen)


def _stalled(victim: Victim, chosen: Random) -> Struck:
    since = time.monotonic()
    time.sleep(chosen.uniform(2.5, 6))
    until = time.monotonic()
    victim.resume()
    return Struck(STALLED, since, until)
