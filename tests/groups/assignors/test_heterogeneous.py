"""Uniform assignor with different subscriptions."""

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from dray.groups.assignors import assign_uniformly
from dray.groups.assignors.load_levels import filling, lowering
from dray.groups.commands import Partitions
from tests.groups.assignors.measures import grouped, improvable, sizes, subscribers, wanted
from tests.groups.assignors.scenes import Scene, chained, member, small_id
from tests.groups.assignors.strategies import scenes

T1, T2, T3 = small_id(1), small_id(2), small_id(3)


@settings(max_examples=150)
@given(scene=scenes())
def test_no_single_move_improves_the_balance(scene: Scene) -> None:
    assert not list(improvable(scene, scene.assigned(assign_uniformly)))


@given(scene=scenes(), order=st.randoms(use_true_random=False))
def test_balanced_assignment_is_kept(scene: Scene, order: Random) -> None:
    balanced = scene.after(randomly_balanced(scene, order))
    assert balanced.assigned(assign_uniformly) == balanced.current


def randomly_balanced(scene: Scene, order: Random) -> dict[str, Partitions]:
    """Assign each partition to a random subscriber, then make random improvements until there are none."""
    readers: dict[tuple[bytes, int], str] = {}
    for topic, number in wanted(scene):
        readers[topic, number] = order.choice(subscribers(scene, topic))
    while improvements := [
        (slot, taker)
        for slot, giver in readers.items()
        for taker in subscribers(scene, slot[0])
        if Counter(readers.values())[giver] - Counter(readers.values())[taker] > 1
    ]:
        slot, taker = order.choice(improvements)
        readers[slot] = taker
    return {one: grouped(slot for slot in readers if readers[slot] == one) for one in scene.members}


def test_topics_with_most_partitions_per_subscriber_are_assigned_first() -> None:
    scene = Scene({"a": member(T1, T2), "b": member(T2), "c": member(T2)}, {T1: 2, T2: 4})
    assert scene.assigned(assign_uniformly) == {"a": {T1: (0, 1)}, "b": {T2: (0, 2)}, "c": {T2: (1, 3)}}


def test_topic_with_fewer_subscribers_is_assigned_first_on_a_tie() -> None:
    scene = Scene({"a": member(T1, T2), "b": member(T1), "c": member(T3)}, {T1: 2, T2: 1, T3: 7})
    assert scene.assigned(assign_uniformly) == {
        "a": {T2: (0,)},
        "b": {T1: (0, 1)},
        "c": {T3: tuple(range(7))},
    }


def test_member_with_the_highest_load_releases_its_last_partition() -> None:
    scene = Scene({"a": member(T1, T2), "b": member(T1)}, {T1: 4}, {"a": {T1: (0, 1, 2, 3)}})
    scene = Scene(scene.members, {T1: 4, T2: 1}, scene.current)
    assert scene.assigned(assign_uniformly) == {"a": {T1: (0, 1), T2: (0,)}, "b": {T1: (2, 3)}}


def test_partitions_with_one_subscriber_stay() -> None:
    scene = Scene({"a": member(T1, T2), "b": member(T2)}, {T1: 5, T2: 2}, {"b": {T2: (1,)}})
    assert scene.assigned(assign_uniformly) == {"a": {T1: (0, 1, 2, 3, 4)}, "b": {T2: (0, 1)}}


def test_balance_that_needs_two_moves_at_once_is_not_found() -> None:
    scene = Scene(
        {"a": member(T1), "b": member(T1, T2), "c": member(T2)},
        {T1: 14, T2: 16},
        {
            "a": {T1: tuple(range(9))},
            "b": {T1: tuple(range(9, 14)), T2: (0, 1, 2, 3, 4)},
            "c": {T2: tuple(range(5, 16))},
        },
    )
    assert sizes(scene.current) == {"a": 9, "b": 10, "c": 11}
    assert scene.assigned(assign_uniformly) == scene.current


def test_long_chains_stop_after_the_maximum_of_rounds() -> None:
    """The next assignment continues from there, so the group becomes balanced in the end."""
    scene = chained(16, 100)
    first = scene.assigned(assign_uniformly)
    assert list(improvable(scene, first))
    assert not list(improvable(scene, scene.after(first).assigned(assign_uniformly)))


def test_filling_lifts_the_lowest_loads() -> None:
    steps = filling([(0, 5), (1, 2), (1, 7), (3, 1)])
    assert [next(steps) for _ in range(9)] == [
        (0, 5), (1, 5), (1, 2), (1, 7), (2, 5), (2, 2), (2, 7), (3, 5), (3, 2),
    ]  # fmt: skip


def test_lowering_cuts_the_highest_loads_while_their_stock_lasts() -> None:
    stocks = {1: [10, 11], 2: [], 3: [30, 31, 32], 4: [40, 41]}
    assert list(lowering([(1, 1), (4, 2), (4, 3), (6, 4)], stocks)) == [
        (6, 4, 41), (5, 4, 40), (4, 3, 32), (3, 3, 31), (2, 3, 30), (1, 1, 11), (0, 1, 10),
    ]  # fmt: skip


def test_lowering_replaces_a_giver_without_stock_by_the_first_one() -> None:
    steps = lowering([(4, 1), (4, 2), (4, 3), (4, 4)], {1: [10, 11], 2: [], 3: [30, 31], 4: [40, 41]})
    assert [(level, giver) for level, giver, _ in steps] == [(4, 4), (4, 3), (4, 1), (3, 3), (3, 4), (3, 1)]
