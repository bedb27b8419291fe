"""Rules of logs: every kind of violation in a mutated history, and none in a correct one."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.chaos.histories import Ack, ProducerHistory, name_of, value_of
from tests.chaos.rules import violations


@dataclass
class Outcome:
    """Two producers that alternated on two partitions: histories, stored and seen records agree."""

    histories: list[ProducerHistory] = field(default_factory=lambda: [ProducerHistory(), ProducerHistory()])
    stored: dict[int, list[tuple[int, str]]] = field(default_factory=lambda: {0: [], 1: []})
    seen: dict[int, list[tuple[int, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        clock = 0.0
        for number in range(6):
            for partition in (0, 1):
                for producer, history in enumerate(self.histories):
                    name, offset = f"p{producer}/{partition}/{number}", 2 * number + producer
                    history.sent[name] = clock
                    history.acknowledged[name] = Ack(partition, offset, clock + 0.5)
                    self.stored[partition].append((offset, name))
                    clock += 1
        self.seen = {partition: rows[:5] for partition, rows in self.stored.items()}

    def violations(self) -> list[str]:
        return violations(self.histories, self.stored, self.seen)

    def rename(self, partition: int, offset: int, name: str) -> None:
        self.stored[partition][offset] = (offset, name)

    def renumber(self) -> None:
        """Make offsets dense again, and change acknowledgements to match what is stored."""
        for partition, rows in self.stored.items():
            self.stored[partition] = [(offset, name) for offset, (_, name) in enumerate(rows)]
            for offset, name in self.stored[partition]:
                for history in self.histories:
                    if name in history.acknowledged:
                        history.acknowledged[name] = history.acknowledged[name]._replace(offset=offset)
        self.seen = {}


def lose_the_last(outcome: Outcome) -> None:
    del outcome.stored[0][-1]


def lose_one_in_between(outcome: Outcome) -> None:
    del outcome.stored[1][8]


def lose_one_and_close_the_gap(outcome: Outcome) -> None:
    rows = outcome.stored[0]
    del rows[6]
    outcome.stored[0] = [(offset, name) for offset, (_, name) in enumerate(rows)]


def lose_a_partition(outcome: Outcome) -> None:
    outcome.stored[1] = []
    outcome.seen = {}


def lose_a_partition_altogether(outcome: Outcome) -> None:
    del outcome.stored[1]


def duplicate_one(outcome: Outcome) -> None:
    outcome.stored[0].append((12, "p0/0/5"))


def duplicate_one_and_renumber(outcome: Outcome) -> None:
    outcome.stored[0].insert(3, outcome.stored[0][2])
    outcome.renumber()


def duplicate_one_in_another_partition(outcome: Outcome) -> None:
    outcome.stored[1].append((12, "p0/0/5"))


def swap_two_of_one_producer(outcome: Outcome) -> None:
    outcome.rename(0, 8, "p0/0/5")
    outcome.rename(0, 10, "p0/0/4")
    outcome.renumber()


def swap_two_producers(outcome: Outcome) -> None:
    """Each producer's own order is kept, but one record was acknowledged before the other was sent."""
    outcome.rename(0, 8, "p1/0/4")
    outcome.rename(0, 9, "p0/0/4")
    outcome.renumber()


def invent_one(outcome: Outcome) -> None:
    outcome.stored[0].append((12, "p0/0/6"))


def invent_garbage(outcome: Outcome) -> None:
    outcome.stored[0].append((12, name_of(b"\xff\x00 garbage")))


def corrupt_one(outcome: Outcome) -> None:
    value = value_of("p1/1/3")
    outcome.rename(1, 7, name_of(value[:-1] + b"?"))


def acknowledge_a_wrong_offset(outcome: Outcome) -> None:
    acks = outcome.histories[0].acknowledged
    acks["p0/0/5"] = acks["p0/0/5"]._replace(offset=11)


def acknowledge_a_wrong_partition(outcome: Outcome) -> None:
    acks = outcome.histories[0].acknowledged
    acks["p0/0/5"] = acks["p0/0/5"]._replace(partition=1)


def leave_one_unacknowledged(outcome: Outcome) -> None:
    del outcome.histories[1].acknowledged["p1/0/2"]


def reject_one(outcome: Outcome) -> None:
    outcome.histories[0].errors.append("p0/0/6 was rejected: fatal")


def read_a_record_that_is_not_stored(outcome: Outcome) -> None:
    outcome.seen[0][4] = (4, "p0/0/5")


def read_past_the_stored_end(outcome: Outcome) -> None:
    outcome.seen[0] = [*outcome.stored[0], (12, "p0/0/6")]


def skip_one_while_reading(outcome: Outcome) -> None:
    del outcome.seen[1][2]


def read_one_twice(outcome: Outcome) -> None:
    outcome.seen[1].insert(2, outcome.seen[1][1])


MUTATIONS: dict[Callable[[Outcome], None], str] = {
    lose_the_last: "acked",
    lose_one_in_between: "dense",
    lose_one_and_close_the_gap: "acked",
    lose_a_partition: "acked",
    lose_a_partition_altogether: "acked",
    duplicate_one: "unique",
    duplicate_one_and_renumber: "unique",
    duplicate_one_in_another_partition: "sent",
    swap_two_of_one_producer: "ordered",
    swap_two_producers: "realtime",
    invent_one: "sent",
    invent_garbage: "sent",
    corrupt_one: "sent",
    acknowledge_a_wrong_offset: "acked",
    acknowledge_a_wrong_partition: "acked",
    leave_one_unacknowledged: "complete",
    reject_one: "complete",
    read_a_record_that_is_not_stored: "stable",
    read_past_the_stored_end: "stable",
    skip_one_while_reading: "stable",
    read_one_twice: "stable",
}
"""Each with the rule that must report it."""


def test_correct_history_has_no_violations() -> None:
    assert Outcome().violations() == []


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_mutated_history_violates_its_rule(mutate: Callable[[Outcome], None]) -> None:
    outcome = Outcome()
    mutate(outcome)
    rules = {line.partition(":")[0] for line in outcome.violations()}
    assert MUTATIONS[mutate] in rules


@pytest.mark.parametrize("name", ["p0/0/0", "p3/2/123456", "p1/1/77"])
def test_corrupt_value_does_not_decode_to_its_name(name: str) -> None:
    value = value_of(name)
    assert name_of(value) == name
    for corrupt in (value[1:], value[:-1], value + b"0", value.replace(b" ", b"x"), b""):
        assert name_of(corrupt) != name
