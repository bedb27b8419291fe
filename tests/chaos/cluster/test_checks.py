"""Checks of a whole experiment: correct journals pass, and each mutation violates a rule."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.chaos.cluster.checks import Stored, collect, consumed, produced, violations
from tests.chaos.cluster.journals import Empty, Journal, MemberJournal, TailJournal
from tests.chaos.groups.histories import Assigned, CommitRequested, Committed, Event, Read
from tests.chaos.histories import Ack, ProducerHistory

TOPIC = "classic"
RECORDS = 4
BROKERS = ("broker1", "broker2")


def names(partition: int) -> list[tuple[int, str]]:
    return [(offset, f"p/{partition}/{offset}") for offset in range(RECORDS)]


class Outcome:
    """The journals of an experiment without a violation, to be mutated."""

    def __init__(self) -> None:
        everything = {partition: names(partition) for partition in range(2)}
        acked = {
            name: Ack(partition, offset, 10.0 + offset)
            for partition, records in everything.items()
            for offset, name in records
        }
        self.producer = ProducerHistory(dict.fromkeys(acked, 9.0), acked)
        events: list[Event] = []
        for partition, records in everything.items():
            events.append(Assigned("m", partition, 20.0))
            events += [Read("m", partition, offset, name, 21.0) for offset, name in records]
            events.append(CommitRequested("m", partition, RECORDS, 22.0))
            events.append(Committed("m", partition, RECORDS, 22.0, 23.0))
        self.member = MemberJournal(TOPIC, events, [], Counter())
        self.tails = [
            TailJournal(
                broker,
                {TOPIC: {partition: names(partition) for partition in range(2)}},
                [],
                [],
                [Empty(TOPIC, 0, 2, requested_at=11.9), Empty(TOPIC, 0, RECORDS, requested_at=99.0)],
                Counter(),
            )
            for broker in BROKERS
        ]
        self.stored = [
            Stored(
                broker,
                {TOPIC: {partition: names(partition) for partition in range(2)}},
                {TOPIC: {0: RECORDS, 1: RECORDS}},
            )
            for broker in BROKERS
        ]

    def violations(self) -> list[str]:
        journals = [Journal(producers={TOPIC: [self.producer]}), Journal(members=[self.member])]
        return violations(collect([*journals, Journal(tails=self.tails)], self.stored))


def lose_a_record(outcome: Outcome) -> None:
    outcome.stored[1].records[TOPIC][1].pop()  # type: ignore[attr-defined]


def store_a_record_twice(outcome: Outcome) -> None:
    outcome.stored[0].records[TOPIC][0].append((RECORDS, "p/0/3"))  # type: ignore[attr-defined]


def swap_two_records(outcome: Outcome) -> None:
    outcome.stored[0].records[TOPIC][0][:2] = [(0, "p/0/1"), (1, "p/0/0")]  # type: ignore[index]


def read_a_phantom(outcome: Outcome) -> None:
    """One broker once returned a record that no broker returns any more."""
    outcome.tails[1].seen[TOPIC][0].append((RECORDS, "p/0/4"))  # type: ignore[attr-defined]


def miss_an_acknowledged_record(outcome: Outcome) -> None:
    outcome.tails[0].empties.append(Empty(TOPIC, 0, 2, requested_at=12.1))


def lose_a_commit(outcome: Outcome) -> None:
    outcome.stored[1].committed[TOPIC][0] = 2  # type: ignore[index]


def skip_a_record(outcome: Outcome) -> None:
    outcome.member.events.remove(Read("m", 0, 0, "p/0/0", 21.0))


MUTATIONS: dict[Callable[[Outcome], None], str] = {
    lose_a_record: "acked",
    store_a_record_twice: "unique",
    swap_two_records: "ordered",
    read_a_phantom: "stable",
    miss_an_acknowledged_record: "fresh",
    lose_a_commit: "final",
    skip_a_record: "skipped",
}
"""Each with the rule that must report it."""


def test_correct_journals_have_no_violations() -> None:
    assert Outcome().violations() == []


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_mutated_journals_violate_their_rule(mutate: Callable[[Outcome], None]) -> None:
    outcome = Outcome()
    mutate(outcome)
    assert MUTATIONS[mutate] in {line.partition(":")[0] for line in outcome.violations()}


def test_series_have_the_times_of_acknowledgements_and_commits() -> None:
    outcome = Outcome()
    journals = [Journal(producers={TOPIC: [outcome.producer]}), Journal(members=[outcome.member])]
    evidence = collect(journals, outcome.stored)
    assert list(produced(evidence).values()) == [[10.0, 11.0, 12.0, 13.0]] * 2
    assert list(consumed(evidence).values()) == [[23.0]] * 2
