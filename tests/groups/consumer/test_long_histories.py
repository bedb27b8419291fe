"""Seeded histories that are longer than Hypothesis makes them, with more heartbeats between failures."""

from random import Random

import pytest

from tests.groups.consumer.model import BROKERS, SUBSCRIPTIONS, TOPICS, World

STEPS = 250
SEEDS = range(16)


def _step(world: World, random: Random) -> None:
    match random.choices(["heartbeat", "membership", "failure", "topics", "time"], [70, 8, 4, 6, 12])[0]:
        case "heartbeat":
            _send_heartbeat(world, random)
        case "membership":
            _join_or_leave(world, random)
        case "failure":
            _fail(world, random)
        case "topics":
            _change_topics(world, random)
        case "time":
            world.now_ms += random.choice([1_000, 5_000, 60_000])
            world.update_image(random.choice(BROKERS))


def _send_heartbeat(world: World, random: Random) -> None:
    client = random.choice(world.clients)
    if random.random() < 0.7:
        client.use_assignment()
    command = client.heartbeat(full=random.random() < 0.5)
    world.send(client, command, lost=random.random() < 0.2, twice=random.random() < 0.2)


def _join_or_leave(world: World, random: Random) -> None:
    client = random.choice(world.clients)
    if client.is_member and random.random() < 0.5:
        world.leave(client, temporarily=random.random() < 0.7, twice=random.random() < 0.2)
    elif client.is_member:
        client.names, client.regex = random.choice(SUBSCRIPTIONS)
        world.send(client, client.heartbeat(full=True))
    else:
        world.join(client, random.choice(SUBSCRIPTIONS), random.choice(BROKERS), lost=random.random() < 0.3)


def _fail(world: World, random: Random) -> None:
    timers = world.timers()
    if timers and random.random() < 0.7:
        world.fire(random.choice(timers))
    else:
        world.kill_broker(random.choice(BROKERS))


def _change_topics(world: World, random: Random) -> None:
    name = random.choice(TOPICS)
    if random.random() < 0.7:
        world.create_or_grow(name, random.randrange(3))
    else:
        world.delete_topic(name)
    if random.random() < 0.5:
        world.update_image(random.choice(BROKERS))


def _history(seed: int) -> World:
    world, random = World(), Random(seed)
    for client in world.clients:
        world.join(client, SUBSCRIPTIONS[1], 1)
    for _ in range(STEPS):
        _step(world, random)
        world.check_no_partition_is_used_twice()
    return world


@pytest.mark.parametrize("seed", SEEDS)
def test_group_is_settled_after_a_long_history(seed: int) -> None:
    _history(seed).check_final_state()


def test_one_seed_gives_one_history() -> None:
    assert _history(3).group == _history(3).group
