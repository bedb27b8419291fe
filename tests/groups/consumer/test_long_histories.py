"""Longer histories than Hypothesis makes, with more heartbeats between the mishaps. A seed repeats itself."""

from random import Random

import pytest

from tests.groups.consumer.world import BROKERS, SUBSCRIPTIONS, TOPICS, World

STEPS = 250
SEEDS = range(16)


def _happens(world: World, chance: Random) -> None:
    match chance.choices(["beat", "come or go", "mishap", "topics", "time"], [70, 8, 4, 6, 12])[0]:
        case "beat":
            _beats(world, chance)
        case "come or go":
            _comes_or_goes(world, chance)
        case "mishap":
            _goes_wrong(world, chance)
        case "topics":
            _changes_topics(world, chance)
        case "time":
            world.now_ms += chance.choice([1_000, 5_000, 60_000])
            world.catches_up(chance.choice(BROKERS))


def _beats(world: World, chance: Random) -> None:
    person = chance.choice(world.people)
    if chance.random() < 0.7:
        person.acts()
    ask = person.beat(tells_all=chance.random() < 0.5)
    world.says(person, ask, lost=chance.random() < 0.2, twice=chance.random() < 0.2)


def _comes_or_goes(world: World, chance: Random) -> None:
    person = chance.choice(world.people)
    if person.is_in and chance.random() < 0.5:
        world.leaves(person, for_now=chance.random() < 0.7, twice=chance.random() < 0.2)
    elif person.is_in:
        person.names, person.regex = chance.choice(SUBSCRIPTIONS)
        world.says(person, person.beat(tells_all=True))
    else:
        world.joins(person, chance.choice(SUBSCRIPTIONS), chance.choice(BROKERS), lost=chance.random() < 0.3)


def _goes_wrong(world: World, chance: Random) -> None:
    timers = world.asked_timers()
    if timers and chance.random() < 0.7:
        world.runs_out(chance.choice(timers))
    else:
        world.dies(chance.choice(BROKERS))


def _changes_topics(world: World, chance: Random) -> None:
    name = chance.choice(TOPICS)
    if chance.random() < 0.7:
        world.makes_or_grows(name, chance.randrange(3))
    else:
        world.deletes(name)
    if chance.random() < 0.5:
        world.catches_up(chance.choice(BROKERS))


def _history(seed: int) -> World:
    world, chance = World(), Random(seed)
    for person in world.people:
        world.joins(person, SUBSCRIPTIONS[1], 1)
    for _ in range(STEPS):
        _happens(world, chance)
        world.check_nothing_is_used_twice()
    return world


@pytest.mark.parametrize("seed", SEEDS)
def test_long_histories_come_to_rest(seed: int) -> None:
    _history(seed).check_rest()


def test_a_seed_repeats_itself() -> None:
    assert _history(3).group == _history(3).group
