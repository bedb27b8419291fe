"""One ordeal: producers and a follower run, brokers break again and again, then everything is compared.

What is found is read after all brokers were killed once more, through each of them alone: nothing may come
from the memory of a survivor, and all must find the same.
"""

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Self

from tests.chaos.faults import Fault, Struck
from tests.chaos.histories import Records, Told
from tests.chaos.producers import SteadyProducer, make_topic
from tests.chaos.readers import Follower, Unreadable, read_everything
from tests.chaos.rules import violations
from tests.chaos.victims import Victim, running_victims

_PRODUCERS = 4
_PROGRESS_EVERY = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done."""

    fault: Fault
    times: int
    brokers: int
    options: Sequence[str] = ()
    """More options of `dray up`."""
    seed: int = 1
    program: Sequence[str] = ("tests.chaos.doomed",)
    """What is run in place of `dray`."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of it."""

    faults: Counter[str] = field(default_factory=Counter)
    """How often what happened."""
    acknowledged: int = 0
    meanwhile: int = 0
    """How many of them were acknowledged while a broker was away."""
    followed: int = 0
    """How many records were read while brokers broke."""
    wrong: tuple[str, ...] = ()

    @classmethod
    def broken_off(cls, error: Exception) -> Self:
        return cls(wrong=(f"broken off: {error!r}",))


def undergo(plan: Plan, directory: Path, say: Callable[[str], None]) -> Figures:
    """Do as planned, with everything local in `directory`."""
    with running_victims(plan.brokers, directory, plan.options, plan.program) as victims:
        bootstrap = ",".join(victim.address for victim in victims)
        make_topic(bootstrap)
        follower, producers = Follower(bootstrap), _producers(victims, bootstrap)
        for thread in (follower, *producers):
            thread.start()
        try:
            struck = _torment(plan, victims, say)
        finally:  # also when a broker does not come back
            for producer in producers:
                producer.stopping.set()
            follower.stopping.set()
        told = [producer.finish() for producer in producers]
        seen = follower.finish()
        wrong = [*follower.errors, *_compare(victims, told, seen)]
    return Figures(
        faults=Counter(one.what for one in struck),
        acknowledged=sum(len(one.acknowledged) for one in told),
        meanwhile=_meanwhile(told, struck),
        followed=sum(len(records) for records in seen.values()),
        wrong=tuple(wrong),
    )


def _producers(victims: Sequence[Victim], bootstrap: str) -> list[SteadyProducer]:
    zones = [victims[number % len(victims)].zone for number in range(_PRODUCERS)]
    return [SteadyProducer(f"p{number}", bootstrap, zone=zone) for number, zone in enumerate(zones)]


def _torment(plan: Plan, victims: Sequence[Victim], say: Callable[[str], None]) -> list[Struck]:
    chosen = Random(plan.seed)
    struck = []
    for done in range(1, plan.times + 1):
        time.sleep(chosen.uniform(0.1, 0.8))  # a random moment, not a wait for something
        struck.append(plan.fault(victims, chosen))
        if done % _PROGRESS_EVERY == 0 or done == plan.times:
            say(f"{done} of {plan.times}")
    return struck


def _compare(victims: Sequence[Victim], told: Sequence[Told], seen: Records) -> list[str]:
    wrong: dict[str, None] = {}
    for victim in victims:
        victim.kill()
    for victim in victims:
        victim.start()
        try:
            found = read_everything(victim.address)
        except Unreadable as error:
            wrong[f"told: {error}"] = None
        else:
            wrong |= dict.fromkeys(violations(told, found, seen))
        victim.kill()
    return list(wrong)


def _meanwhile(told: Sequence[Told], struck: Sequence[Struck]) -> int:
    begins = [one.since for one in struck]
    count = 0
    for one in told:
        for place in one.acknowledged.values():
            last = bisect_right(begins, place.at) - 1
            count += last >= 0 and place.at < struck[last].until
    return count
