"""The rules find what they are there to find, in histories that were doctored; a sound one passes."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.chaos.histories import Place, Told, name_of, value_of
from tests.chaos.rules import violations


@dataclass
class World:
    """Two producers that took turns on two partitions: told, found and seen agree."""

    told: list[Told] = field(default_factory=lambda: [Told(), Told()])
    found: dict[int, list[tuple[int, str]]] = field(default_factory=lambda: {0: [], 1: []})
    seen: dict[int, list[tuple[int, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        clock = 0.0
        for number in range(6):
            for partition in (0, 1):
                for producer, told in enumerate(self.told):
                    name, offset = f"p{producer}/{partition}/{number}", 2 * number + producer
                    told.sent[name] = clock
                    told.acknowledged[name] = Place(partition, offset, clock + 0.5)
                    self.found[partition].append((offset, name))
                    clock += 1
        self.seen = {partition: rows[:5] for partition, rows in self.found.items()}

    def wrong(self) -> list[str]:
        return violations(self.told, self.found, self.seen)

    def rename(self, partition: int, offset: int, name: str) -> None:
        self.found[partition][offset] = (offset, name)

    def renumber(self) -> None:
        """Make offsets dense again, and have producers and readers agree with what is there."""
        for partition, rows in self.found.items():
            self.found[partition] = [(offset, name) for offset, (_, name) in enumerate(rows)]
            for offset, name in self.found[partition]:
                for told in self.told:
                    if name in told.acknowledged:
                        told.acknowledged[name] = told.acknowledged[name]._replace(offset=offset)
        self.seen = {}


def lose_the_last(world: World) -> None:
    del world.found[0][-1]


def lose_one_in_between(world: World) -> None:
    del world.found[1][8]


def lose_one_and_close_the_gap(world: World) -> None:
    rows = world.found[0]
    del rows[6]
    world.found[0] = [(offset, name) for offset, (_, name) in enumerate(rows)]


def lose_a_partition(world: World) -> None:
    world.found[1] = []
    world.seen = {}


def lose_a_partition_altogether(world: World) -> None:
    del world.found[1]


def double_one(world: World) -> None:
    world.found[0].append((12, "p0/0/5"))


def double_one_as_if_it_were_right(world: World) -> None:
    world.found[0].insert(3, world.found[0][2])
    world.renumber()


def double_one_elsewhere(world: World) -> None:
    world.found[1].append((12, "p0/0/5"))


def swap_two_of_one_producer(world: World) -> None:
    world.rename(0, 8, "p0/0/5")
    world.rename(0, 10, "p0/0/4")
    world.renumber()


def swap_two_producers(world: World) -> None:
    """Each producer's own order is right, but one was told before the other had begun."""
    world.rename(0, 8, "p1/0/4")
    world.rename(0, 9, "p0/0/4")
    world.renumber()


def invent_one(world: World) -> None:
    world.found[0].append((12, "p0/0/6"))


def invent_rubbish(world: World) -> None:
    world.found[0].append((12, name_of(b"\xff\x00 rubbish")))


def damage_one(world: World) -> None:
    value = value_of("p1/1/3")
    world.rename(1, 7, name_of(value[:-1] + b"?"))


def tell_a_wrong_offset(world: World) -> None:
    told = world.told[0].acknowledged
    told["p0/0/5"] = told["p0/0/5"]._replace(offset=11)


def tell_a_wrong_partition(world: World) -> None:
    told = world.told[0].acknowledged
    told["p0/0/5"] = told["p0/0/5"]._replace(partition=1)


def leave_one_unanswered(world: World) -> None:
    del world.told[1].acknowledged["p1/0/2"]


def refuse_one(world: World) -> None:
    world.told[0].errors.append("p0/0/6 was not taken: fatal")


def show_what_is_not_there_later(world: World) -> None:
    world.seen[0][4] = (4, "p0/0/5")


def show_more_than_is_there_later(world: World) -> None:
    world.seen[0] = [*world.found[0], (12, "p0/0/6")]


def skip_one_while_reading(world: World) -> None:
    del world.seen[1][2]


def show_one_twice(world: World) -> None:
    world.seen[1].insert(2, world.seen[1][1])


DOCTORED: dict[Callable[[World], None], str] = {
    lose_the_last: "told",
    lose_one_in_between: "dense",
    lose_one_and_close_the_gap: "told",
    lose_a_partition: "told",
    lose_a_partition_altogether: "told",
    double_one: "once",
    double_one_as_if_it_were_right: "once",
    double_one_elsewhere: "sent",
    swap_two_of_one_producer: "order",
    swap_two_producers: "time",
    invent_one: "sent",
    invent_rubbish: "sent",
    damage_one: "sent",
    tell_a_wrong_offset: "told",
    tell_a_wrong_partition: "told",
    leave_one_unanswered: "everything",
    refuse_one: "everything",
    show_what_is_not_there_later: "stable",
    show_more_than_is_there_later: "stable",
    skip_one_while_reading: "stable",
    show_one_twice: "stable",
}
"""Each with the rule that must find it."""


def test_a_sound_history_passes() -> None:
    assert World().wrong() == []


@pytest.mark.parametrize("doctor", DOCTORED, ids=lambda doctor: doctor.__name__)
def test_a_doctored_history_is_found_out(doctor: Callable[[World], None]) -> None:
    world = World()
    doctor(world)
    rules = {line.partition(":")[0] for line in world.wrong()}
    assert DOCTORED[doctor] in rules


@pytest.mark.parametrize("name", ["p0/0/0", "p3/2/123456", "p1/1/77"])
def test_a_value_tells_its_name_only_if_it_is_whole(name: str) -> None:
    value = value_of(name)
    assert name_of(value) == name
    for damaged in (value[1:], value[:-1], value + b"0", value.replace(b" ", b"x"), b""):
        assert name_of(damaged) != name
