"""The rules find what they are there to find, in histories that were doctored; a sound one passes."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.chaos.groups.histories import Asked, Begun, Committed, Event, Ledger, Read
from tests.chaos.groups.rules import violations
from tests.chaos.histories import Place, Told

_PARTITIONS = 2
_RECORDS = 8
_HANDED_ON = 5


@dataclass
class World:
    """Two members, the second of which takes both partitions over where the first has stopped."""

    told: Told = field(default_factory=Told)
    events: list[Event] = field(default_factory=list)
    committed: list[dict[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for partition in range(_PARTITIONS):
            for offset in range(_RECORDS):
                name = f"p0/{partition}/{offset}"
                self.told.sent[name] = 0.0
                self.told.acknowledged[name] = Place(partition, offset, 0.5)
            self._read("a", partition, range(_HANDED_ON), at=10.0)
            self._read("b", partition, range(_HANDED_ON, _RECORDS), at=20.0)
        self.committed = [dict.fromkeys(range(_PARTITIONS), _RECORDS) for _ in range(2)]

    def wrong(self) -> list[str]:
        return violations(self.told, Ledger(self.events), self.committed)

    def replace(self, old: Event, *new: Event) -> None:
        place = self.events.index(old)
        self.events[place : place + 1] = new

    def reads(self, member: str) -> list[Read]:
        return [event for event in self.events if isinstance(event, Read) and event.member == member]

    def commits(self, member: str) -> list[Committed]:
        return [event for event in self.events if isinstance(event, Committed) and event.member == member]

    def _read(self, member: str, partition: int, offsets: range, at: float) -> None:
        self.events.append(Begun(member, partition, at))
        for offset in offsets:
            self.events.append(Read(member, partition, offset, f"p0/{partition}/{offset}", at + 1))
        self.events.append(Asked(member, partition, offsets.stop, at + 2))
        self.events.append(Committed(member, partition, offsets.stop, at + 2, at + 3))


def skip_the_first_of_a_stint(world: World) -> None:
    world.events.remove(world.reads("b")[0])


def skip_one_in_between(world: World) -> None:
    world.events.remove(world.reads("a")[2])


def skip_the_last(world: World) -> None:
    world.events.remove(world.reads("b")[-1])


def skip_what_only_another_has_read(world: World) -> None:
    """Both are read by somebody, but not by the one whose turn it was."""
    extra = world.reads("a")[-1]._replace(offset=_HANDED_ON, name=f"p0/1/{_HANDED_ON}")
    world.replace(world.reads("a")[-1], world.reads("a")[-1], extra)
    world.events.remove(next(one for one in world.reads("b") if one.partition == 1))


def read_something_else(world: World) -> None:
    world.replace(world.reads("a")[1], world.reads("a")[1]._replace(name="p0/0/7"))


def read_what_is_not_there(world: World) -> None:
    last = world.reads("b")[-1]
    world.replace(last, last, last._replace(offset=_RECORDS, name=f"p0/1/{_RECORDS}"))


def begin_before_what_was_committed(world: World) -> None:
    first = world.reads("b")[0]
    world.replace(first, first._replace(offset=_HANDED_ON - 1, name=f"p0/0/{_HANDED_ON - 1}"), first)


def begin_anew(world: World) -> None:
    first = world.reads("b")[0]
    again = [first._replace(offset=offset, name=f"p0/0/{offset}") for offset in range(_HANDED_ON)]
    world.replace(first, *again, first)


def commit_less_afterwards(world: World) -> None:
    last = world.commits("b")[0]
    world.replace(last, last, Committed("a", last.partition, _HANDED_ON, last.at + 1, last.at + 2))


def forget_a_commit(world: World) -> None:
    world.committed[1][0] = _HANDED_ON


def forget_all_commits(world: World) -> None:
    world.committed[0] = {}


def leave_one_unanswered(world: World) -> None:
    world.told.sent["p0/0/8"] = 1.0


def refuse_one(world: World) -> None:
    world.told.errors.append("p0/0/8 was not taken: fatal")


DOCTORED: dict[Callable[[World], None], str] = {
    skip_the_first_of_a_stint: "start",
    skip_one_in_between: "dense",
    skip_the_last: "skipped",
    skip_what_only_another_has_read: "start",
    read_something_else: "same",
    read_what_is_not_there: "same",
    begin_before_what_was_committed: "again",
    begin_anew: "again",
    commit_less_afterwards: "back",
    forget_a_commit: "finished",
    forget_all_commits: "finished",
    leave_one_unanswered: "everything",
    refuse_one: "everything",
}
"""Each with the rule that must find it."""


def rules_of(world: World) -> set[str]:
    return {line.partition(":")[0] for line in world.wrong()}


@pytest.mark.parametrize("doctor", DOCTORED, ids=lambda doctor: doctor.__name__)
def test_a_doctored_history_is_found_out(doctor: Callable[[World], None]) -> None:
    world = World()
    doctor(world)
    assert DOCTORED[doctor] in rules_of(world)


def test_a_sound_history_passes() -> None:
    assert World().wrong() == []


def test_a_member_that_ended_by_itself_is_told() -> None:
    world = World()
    ended = Ledger(world.events, failures=["m1 was ended: fatal"])
    assert violations(world.told, ended, world.committed) == ["everything: m1 was ended: fatal"]


def test_reading_again_what_was_not_yet_committed_is_no_fault() -> None:
    """The one before had read further than it could commit."""
    world = World()
    last = world.reads("a")[_HANDED_ON - 1]
    more = [last._replace(offset=offset, name=f"p0/0/{offset}") for offset in range(_HANDED_ON, _RECORDS)]
    world.replace(last, last, *more)
    assert world.wrong() == []


def test_a_commit_that_was_never_confirmed_may_count_all_the_same() -> None:
    world = World()
    world.events.remove(world.commits("a")[0])
    assert world.wrong() == []


def test_a_reader_that_was_given_the_partition_before_the_commit_is_no_fault() -> None:
    """It does not know yet that the partition is another's."""
    world = World()
    begun = Begun("b", 0, 20.0)
    world.replace(begun, begun._replace(at=12.5))
    early = next(one for one in world.reads("b") if one.partition == 0)
    stale = [early._replace(offset=offset, name=f"p0/0/{offset}") for offset in range(_HANDED_ON)]
    world.replace(early, *stale, early)
    assert world.wrong() == []


def test_commits_under_way_at_once_may_be_confirmed_in_either_order() -> None:
    world = World()
    last = world.commits("b")[0]
    world.replace(last, last, Committed("a", last.partition, _HANDED_ON, last.at - 0.5, last.at + 2))
    assert world.wrong() == []
