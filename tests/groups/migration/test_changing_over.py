"""Clients of both protocols come and go, and the group changes over under them, back and forth.

No two of them ever use the same partition, and when nobody comes or goes any more all partitions are used.
"""

from random import Random

import pytest

from dray.groups.classic import ClassicGroup
from dray.groups.consumer import ConsumerGroup
from dray.groups.outcome import TimerKind
from dray.groups.stored import decode_group, encode_group
from tests.groups.consumer import invariants
from tests.groups.consumer.builders import image
from tests.groups.migration.builders import LIMITS, Desk
from tests.groups.migration.people import NewPerson, OldPerson, Person

STEPS = 220
SEEDS = range(14)


class World:
    """A group, four clients of each protocol, and the kinds the group has been of."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.desk = Desk(image(t=4, u=2), LIMITS)
        cooperative = bool(seed % 2)
        self.people: list[Person] = [NewPerson(self.desk, f"new{number}") for number in range(3)]
        self.people += [
            OldPerson(self.desk, f"old{number}", is_cooperative=cooperative) for number in range(3)
        ]
        self.kinds: list[type] = []

    def happens(self) -> None:
        chance, person = self.chance, self.chance.choice(self.people)
        what = chance.random()
        if what < 0.05:
            person.subscribe(chance.choice([("t",), ("t", "u")]))
            person.is_on = True
        elif what < 0.09 and person.is_on:
            person.stop()
        elif what < 0.12:
            self.a_timer_runs_out()
        elif person.is_on:
            person.step(lost=chance.random() < 0.1)
        self.desk.now_ms += 500

    def a_timer_runs_out(self) -> None:
        if self.desk.group is not None and (timers := sorted(self.desk.timers(), key=str)):
            self.desk.fire(self.chance.choice(timers))
            for person in self.people:
                person.is_ghost |= person.member_id not in self.desk.group.members

    def check(self) -> None:
        group = self.desk.group
        if group is None:
            return
        assert decode_group(encode_group(group)) == group
        if isinstance(group, ConsumerGroup):
            invariants.check(group)
        if not self.kinds or self.kinds[-1] is not type(group):
            self.kinds.append(type(group))
        known = [
            person for person in self.people if person.member_id in group.members and not person.is_ghost
        ]
        used = [partition for person in known for partition in person.uses]
        assert len(used) == len(set(used))

    def check_rest(self) -> None:
        """Everybody goes on until nothing changes any more."""
        self._put_out_ghosts()
        for _ in range(60):
            for person in self.people:
                if person.is_on:
                    person.step()
            self._end_initial_delay()
            self.check()
            self.desk.now_ms += 3_000
        living = [person for person in self.people if person.is_on]
        wanted = {topic for person in living for topic in person.topics}
        partitions = {
            (topic, number) for topic in wanted for number in range(self.desk.topics.seen[topic].partitions)
        }
        assert sorted(partition for person in living for partition in person.uses) == sorted(partitions)

    def _put_out_ghosts(self) -> None:
        """Members, and ids that were given out, behind which there is nobody any more."""
        if self.desk.group is None:
            return
        known = {person.member_id for person in self.people if person.is_on}
        theirs = {TimerKind.SESSION, TimerKind.NEW_MEMBER, TimerKind.PENDING_MEMBER}
        for timer in self.desk.timers():
            if timer.kind in theirs and timer.member_id not in known:
                self.desk.fire(timer)

    def _end_initial_delay(self) -> None:
        if isinstance(self.desk.group, ClassicGroup):
            timer = self.desk.timer(TimerKind.INITIAL_DELAY, "")
            if timer is not None:
                self.desk.fire(timer)


def _history(seed: int) -> World:
    world = World(seed)
    for _ in range(STEPS):
        world.happens()
        world.check()
    return world


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_come_to_rest_whatever_protocol_they_end_in(seed: int) -> None:
    _history(seed).check_rest()


def test_groups_did_change_over() -> None:
    """The histories are about something: most groups were of both kinds, several times."""
    changes = [len(_history(seed).kinds) for seed in SEEDS]
    assert sum(changes) > 2 * len(SEEDS)
