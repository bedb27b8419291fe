"""Rules of groups: every kind of violation in a mutated history, and none in a correct one."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.chaos.groups.histories import Assigned, CommitRequested, Committed, Event, GroupHistory, Read
from tests.chaos.groups.rules import violations
from tests.chaos.histories import Ack, ProducerHistory

_PARTITIONS = 2
_RECORDS = 8
_HANDED_OVER = 5


@dataclass
class Outcome:
    """Two members, the second of which takes over both partitions where the first has stopped."""

    producer: ProducerHistory = field(default_factory=ProducerHistory)
    events: list[Event] = field(default_factory=list)
    committed: list[dict[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for partition in range(_PARTITIONS):
            for offset in range(_RECORDS):
                name = f"p0/{partition}/{offset}"
                self.producer.sent[name] = 0.0
                self.producer.acknowledged[name] = Ack(partition, offset, 0.5)
            self._read("a", partition, range(_HANDED_OVER), at=10.0)
            self._read("b", partition, range(_HANDED_OVER, _RECORDS), at=20.0)
        self.committed = [dict.fromkeys(range(_PARTITIONS), _RECORDS) for _ in range(2)]

    def violations(self) -> list[str]:
        return violations(self.producer, GroupHistory(self.events), self.committed)

    def replace(self, old: Event, *new: Event) -> None:
        place = self.events.index(old)
        self.events[place : place + 1] = new

    def reads(self, member: str) -> list[Read]:
        return [event for event in self.events if isinstance(event, Read) and event.member == member]

    def commits(self, member: str) -> list[Committed]:
        return [event for event in self.events if isinstance(event, Committed) and event.member == member]

    def _read(self, member: str, partition: int, offsets: range, at: float) -> None:
        self.events.append(Assigned(member, partition, at))
        for offset in offsets:
            self.events.append(Read(member, partition, offset, f"p0/{partition}/{offset}", at + 1))
        self.events.append(CommitRequested(member, partition, offsets.stop, at + 2))
        self.events.append(Committed(member, partition, offsets.stop, at + 2, at + 3))


def skip_the_first_of_an_ownership(outcome: Outcome) -> None:
    outcome.events.remove(outcome.reads("b")[0])


def skip_one_in_between(outcome: Outcome) -> None:
    outcome.events.remove(outcome.reads("a")[2])


def skip_the_last(outcome: Outcome) -> None:
    outcome.events.remove(outcome.reads("b")[-1])


def skip_what_only_another_has_read(outcome: Outcome) -> None:
    """All records are read, but one of them by a member that no longer owns the partition."""
    extra = outcome.reads("a")[-1]._replace(offset=_HANDED_OVER, name=f"p0/1/{_HANDED_OVER}")
    outcome.replace(outcome.reads("a")[-1], outcome.reads("a")[-1], extra)
    outcome.events.remove(next(one for one in outcome.reads("b") if one.partition == 1))


def read_something_else(outcome: Outcome) -> None:
    outcome.replace(outcome.reads("a")[1], outcome.reads("a")[1]._replace(name="p0/0/7"))


def read_past_the_end(outcome: Outcome) -> None:
    last = outcome.reads("b")[-1]
    outcome.replace(last, last, last._replace(offset=_RECORDS, name=f"p0/1/{_RECORDS}"))


def begin_before_the_committed_offset(outcome: Outcome) -> None:
    first = outcome.reads("b")[0]
    outcome.replace(first, first._replace(offset=_HANDED_OVER - 1, name=f"p0/0/{_HANDED_OVER - 1}"), first)


def begin_from_scratch(outcome: Outcome) -> None:
    first = outcome.reads("b")[0]
    again = [first._replace(offset=offset, name=f"p0/0/{offset}") for offset in range(_HANDED_OVER)]
    outcome.replace(first, *again, first)


def commit_less_afterwards(outcome: Outcome) -> None:
    last = outcome.commits("b")[0]
    outcome.replace(last, last, Committed("a", last.partition, _HANDED_OVER, last.at + 1, last.at + 2))


def drop_a_commit(outcome: Outcome) -> None:
    outcome.committed[1][0] = _HANDED_OVER


def drop_all_commits(outcome: Outcome) -> None:
    outcome.committed[0] = {}


def leave_one_unacknowledged(outcome: Outcome) -> None:
    outcome.producer.sent["p0/0/8"] = 1.0


def reject_one(outcome: Outcome) -> None:
    outcome.producer.errors.append("p0/0/8 was rejected: fatal")


MUTATIONS: dict[Callable[[Outcome], None], str] = {
    skip_the_first_of_an_ownership: "start",
    skip_one_in_between: "dense",
    skip_the_last: "skipped",
    skip_what_only_another_has_read: "start",
    read_something_else: "equal",
    read_past_the_end: "equal",
    begin_before_the_committed_offset: "reread",
    begin_from_scratch: "reread",
    commit_less_afterwards: "rewind",
    drop_a_commit: "final",
    drop_all_commits: "final",
    leave_one_unacknowledged: "complete",
    reject_one: "complete",
}
"""Each with the rule that must report it."""


def rules_of(outcome: Outcome) -> set[str]:
    return {line.partition(":")[0] for line in outcome.violations()}


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_mutated_history_violates_its_rule(mutate: Callable[[Outcome], None]) -> None:
    outcome = Outcome()
    mutate(outcome)
    assert MUTATIONS[mutate] in rules_of(outcome)


def test_correct_history_has_no_violations() -> None:
    assert Outcome().violations() == []


def test_member_that_failed_is_reported() -> None:
    outcome = Outcome()
    history = GroupHistory(outcome.events, failures=["m1 failed: fatal"])
    assert violations(outcome.producer, history, outcome.committed) == ["complete: m1 failed: fatal"]


def test_rereading_uncommitted_records_is_allowed() -> None:
    """The previous owner had read further than it could commit."""
    outcome = Outcome()
    last = outcome.reads("a")[_HANDED_OVER - 1]
    more = [last._replace(offset=offset, name=f"p0/0/{offset}") for offset in range(_HANDED_OVER, _RECORDS)]
    outcome.replace(last, last, *more)
    assert outcome.violations() == []


def test_unconfirmed_commit_may_be_in_effect() -> None:
    outcome = Outcome()
    outcome.events.remove(outcome.commits("a")[0])
    assert outcome.violations() == []


def test_rereading_is_allowed_if_the_assignment_preceded_the_commit() -> None:
    """The previous owner has not noticed yet that it lost the partition."""
    outcome = Outcome()
    assigned = Assigned("b", 0, 20.0)
    outcome.replace(assigned, assigned._replace(at=12.5))
    early = next(one for one in outcome.reads("b") if one.partition == 0)
    stale = [early._replace(offset=offset, name=f"p0/0/{offset}") for offset in range(_HANDED_OVER)]
    outcome.replace(early, *stale, early)
    assert outcome.violations() == []


def test_concurrent_commits_may_be_confirmed_in_either_order() -> None:
    outcome = Outcome()
    last = outcome.commits("b")[0]
    outcome.replace(last, last, Committed("a", last.partition, _HANDED_OVER, last.at - 0.5, last.at + 2))
    assert outcome.violations() == []
