"""Comparison with the assignors of Apache Kafka.

Where Kafka's order is defined, the results must be equal in every step of many histories. For topics of the
uniform assignor with identical subscriptions it is not: they come out of a hash set, in order only for ids
made for that purpose.
"""

from collections.abc import Iterator
from random import Random

import pytest

from dray.groups.assignors import assign_ranges, assign_uniformly
from dray.groups.consumer import ASSIGNORS
from tests.groups.assignors.kafka import KafkaAssignors, kafka_assignors
from tests.groups.assignors.measures import moved, sizes
from tests.groups.assignors.moves import compare
from tests.groups.assignors.scenes import History, Scene, chained, large_group, member, small_id

pytestmark = pytest.mark.real("java")
HISTORIES = 100
LENGTH = 12


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaAssignors]:
    with kafka_assignors() as running:
        yield running


def histories_of_each_assignor(*, mixed: bool, numbered: bool = False) -> Iterator[tuple[str, Scene]]:
    """Every scene of many histories with the target of the previous scene, for each assignor."""
    for seed in range(HISTORIES):
        for name, assignor in ASSIGNORS.items():
            scene = Scene({}, {})
            for bare in History(Random(seed), mixed, numbered).scenes(LENGTH):
                scene = bare.after(scene.assigned(assignor))
                yield name, scene


def test_identical_subscriptions_are_assigned_as_in_kafka(kafka: KafkaAssignors) -> None:
    for name, scene in histories_of_each_assignor(mixed=False, numbered=True):
        assert scene.assigned(ASSIGNORS[name]) == kafka.assign(name, scene)


def test_different_subscriptions_are_assigned_as_in_kafka(kafka: KafkaAssignors) -> None:
    compared = 0
    for name, scene in histories_of_each_assignor(mixed=True):
        if name == "range" or not scene.identical:
            assert scene.assigned(ASSIGNORS[name]) == kafka.assign(name, scene)
            compared += 1
    assert compared > HISTORIES * LENGTH


@pytest.mark.parametrize("hashed", [False, True])
def test_shares_and_moves_equal_kafkas_where_its_order_is_undefined(
    kafka: KafkaAssignors, hashed: bool
) -> None:
    for name, scene in histories_of_each_assignor(mixed=False):
        ours, theirs = scene.assigned(ASSIGNORS[name]), kafka.assign(name, scene, hashed=hashed)
        assert sorted(sizes(ours).values()) == sorted(sizes(theirs).values())
        assert hashed or sizes(ours) == sizes(theirs)
        assert moved(scene.current, ours) == moved(scene.current, theirs)


@pytest.mark.parametrize("seed", range(8))
def test_large_groups_are_assigned_as_in_kafka(kafka: KafkaAssignors, seed: int) -> None:
    """With many subscribers to a topic, many of them have none of its partitions to release."""
    for scene in large_group(Random(seed), members=80, topics=25):
        assert scene.assigned(assign_uniformly) == kafka.assign("uniform", scene)


def test_names_in_any_script_are_ordered_as_in_kafka(kafka: KafkaAssignors) -> None:
    rng = Random(1)
    topic = small_id(1)
    names = ["".join(rng.choices("aZé\uff5e\U0001f600", k=4)) for _ in range(60)]
    members = {name: member(topic, instance=rng.choice((None, f"{name}!"))) for name in names}
    scene = Scene(members, {topic: 100})
    assert scene.assigned(assign_ranges) == kafka.assign("range", scene)


def test_long_chains_stop_at_the_same_round_as_in_kafka(kafka: KafkaAssignors) -> None:
    scene = chained(16, 100)
    assert scene.assigned(assign_uniformly) == kafka.assign("uniform", scene)


@pytest.mark.parametrize("mixed", [False, True])
def test_moves_over_many_rebalances_do_not_exceed_kafkas(kafka: KafkaAssignors, mixed: bool) -> None:
    """The targets differ, so chance decides about two moves in a thousand, either way."""
    ours, theirs = compare(kafka, mixed=mixed, histories=30, rebalances=20)
    assert theirs.moves > 1_000
    assert ours.moves <= theirs.moves * 1.02
    assert ours.uneven <= theirs.uneven
