"""An ordeal of compaction: producers and readers run, somebody is struck in each state, again and again.

After every blow what died is back and compaction has caught up; then table, stream and objects are compared
while all goes on. After each state everything is stopped, swept and looked at. In the end the stream is read
from each broker alone, with nothing in its memory.
"""

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random

from tests.chaos.compaction.grounds import Lay
from tests.chaos.compaction.points import KINDS, State, points_of
from tests.chaos.compaction.readers import Unreadable, read_everything
from tests.chaos.compaction.rules import equality_violations
from tests.chaos.compaction.scene import Scene, Stuck, staged
from tests.chaos.compaction.victims import ELSEWHERE, VICTIMS, Victim, suits
from tests.chaos.histories import Told
from tests.chaos.ordeal import Figures
from tests.chaos.rules import violations

_TRIMMED = 0.25
"""How often the beginning of the log is deleted after a blow."""
_TRIM_S = 120.0
_TOLD_EVERY = 5


@dataclass(frozen=True, slots=True)
class Leg:
    """So many blows to one victim in one state."""

    victim: Victim
    state: State
    times: int
    points: tuple[str, ...] = ()
    """Where; otherwise at every point of the state in its turn, of both kinds of jobs."""

    def where(self) -> list[str]:
        kinds = zip_longest(*(points_of(self.state, kind) for kind in KINDS))
        all_points = dict.fromkeys(point for points in kinds for point in points if point is not None)
        chosen = self.points or [point for point in all_points if suits(self.victim, point)]
        return [chosen[number % len(chosen)] for number in range(self.times)]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done."""

    legs: Sequence[Leg]
    lay: Lay
    seed: int = 1
    rests: bool = True
    """Whether everything is stopped, swept and looked at after each leg, and not only after the last."""
    program: tuple[str, ...] = ("tests.chaos.compaction.doomed",)
    """What is run in place of `dray` as the compactor."""


@dataclass(frozen=True, slots=True)
class Blow:
    """One strike, and for how long something was away."""

    state: State
    where: str
    since: float
    until: float

    @property
    def what(self) -> str:
        return self.state if self.where != ELSEWHERE else ELSEWHERE


def undergo(plan: Plan, directory: Path, say: Callable[[str], None]) -> Figures:
    """Do as planned, with everything local in `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    blows: list[Blow] = []
    compactors = 2 if any(leg.victim == "second" for leg in plan.legs) else 1
    with plan.lay(directory) as ground, staged(directory, ground, compactors, plan.program) as scene:
        try:
            blows.extend(_blows(plan, scene, say))  # one after the other: what was done counts, come what may
            told = _end(scene)
        except Stuck as error:
            scene.wrong[f"goes on: {error}"] = None
            told = scene.told
        say(", ".join(f"{count} {where}" for where, count in Counter(one.where for one in blows).items()))
    return Figures(
        faults=Counter(one.what for one in blows),
        acknowledged=sum(len(one.acknowledged) for one in told),
        meanwhile=_meanwhile(told, blows),
        followed=scene.seen.count,
        wrong=tuple(_wrong(scene)),
    )


def _wrong(scene: Scene) -> list[str]:
    return [*scene.wrong, *scene.seen.wrong]


def _blows(plan: Plan, scene: Scene, say: Callable[[str], None]) -> Iterator[Blow]:
    chosen = Random(plan.seed)
    scene.wait_caught_up()
    for done, leg in enumerate(plan.legs):
        if done and plan.rests:
            scene.lay_to_rest()
            scene.wake()
        for number, point in enumerate(leg.where(), 1):
            before = _wrong(scene)
            yield _blow(leg, scene, point, chosen)
            for line in (one for one in _wrong(scene) if one not in before):
                say(f"wrong after blow {number}: {line}")
            if number % _TOLD_EVERY == 0 or number == leg.times:
                say(f"{leg.victim}, {leg.state}: {number} of {leg.times}, {len(_wrong(scene))} wrong")


def _blow(leg: Leg, scene: Scene, point: str, chosen: Random) -> Blow:
    if leg.state == "retention":
        scene.wait("trimmed", lambda: scene.trim(chosen, whole_files=True), _TRIM_S)
    elif chosen.random() < _TRIMMED:
        scene.trim(chosen, whole_files=False)
    since = time.monotonic()
    where = VICTIMS[leg.victim](scene, point, chosen)
    until = time.monotonic()
    scene.wait_caught_up()
    scene.check()
    return Blow(leg.state, where, since, until)


def _end(scene: Scene) -> list[Told]:
    """Stop all, and compare what was told and seen with what is found then."""
    told = [feeder.finish() for feeder in scene.feeders]
    scene.wait("followed", scene.is_followed)
    for thread in (scene.follower, scene.rereader):
        thread.stopping.set()
        thread.join(60)
        assert not thread.is_alive(), f"the {thread.name} does not end"
    scene.lay_to_rest()
    rows = scene.tables.read().rows
    for broker in scene.brokers:
        broker.start()
        try:
            found = read_everything(broker.address)
        except Unreadable as error:
            scene.wrong[f"readable: {error}"] = None
        else:
            scene.wrong |= dict.fromkeys(equality_violations(rows, found))
            whole = {
                partition: [*scene.seen.before(partition, records[0][0]), *records]
                for partition, records in found.items()
            }
            scene.wrong |= dict.fromkeys(violations(told, whole, scene.seen.records()))
        broker.kill()
    return told


def _meanwhile(told: Sequence[Told], blows: Sequence[Blow]) -> int:
    """How many records were acknowledged while something was away."""
    begins = [one.since for one in blows]
    count = 0
    for one in told:
        for place in one.acknowledged.values():
            last = bisect_right(begins, place.at) - 1
            count += last >= 0 and place.at < blows[last].until
    return count
