"""Range assignor."""

from hypothesis import given

from dray.groups.assignors import assign_ranges
from tests.groups.assignors.scenes import Scene, member, small_id
from tests.groups.assignors.strategies import scenes

T1, T2 = small_id(1), small_id(2)


@given(scene=scenes(valid=False))
def test_every_share_is_a_run_and_the_first_are_one_longer(scene: Scene) -> None:
    targets = scene.assigned(assign_ranges)
    for topic, count in scene.counts.items():
        runs = sorted(
            targets[one].get(topic, ()) for one in scene.members if topic in scene.members[one].topic_ids
        )
        lengths = [len(run) for run in runs if run]
        assert [number for run in runs for number in run] == list(range(count if runs else 0))
        assert lengths == sorted(lengths, reverse=True)
        assert not lengths or max(map(len, runs)) - min(map(len, runs)) <= 1


def test_equal_topics_are_divided_alike() -> None:
    scene = Scene({member_id: member(T1, T2) for member_id in "cab"}, {T1: 7, T2: 7})
    assert scene.assigned(assign_ranges) == {
        "a": {T1: (0, 1, 2), T2: (0, 1, 2)},
        "b": {T1: (3, 4), T2: (3, 4)},
        "c": {T1: (5, 6), T2: (5, 6)},
    }


def test_each_topic_orders_its_own_subscribers() -> None:
    scene = Scene({"a": member(T1, T2), "b": member(T2), "c": member(T1)}, {T1: 3, T2: 2})
    assert scene.assigned(assign_ranges) == {"a": {T1: (0, 1), T2: (0,)}, "b": {T2: (1,)}, "c": {T1: (2,)}}


def test_static_members_come_first() -> None:
    members = {"a": member(T1), "z": member(T1, instance="i1"), "y": member(T1, instance="i2")}
    assert Scene(members, {T1: 3}).assigned(assign_ranges) == {
        "z": {T1: (0,)},
        "y": {T1: (1,)},
        "a": {T1: (2,)},
    }


def test_last_subscribers_may_get_nothing() -> None:
    scene = Scene({member_id: member(T1) for member_id in "abc"}, {T1: 2})
    assert scene.assigned(assign_ranges) == {"a": {T1: (0,)}, "b": {T1: (1,)}, "c": {}}


def test_strings_are_ordered_as_in_java() -> None:
    """A character of two UTF-16 units sorts before those at the end of the basic plane."""
    scene = Scene({"\uff5e": member(T1), "\U0001f600": member(T1)}, {T1: 2})
    assert scene.assigned(assign_ranges) == {"\U0001f600": {T1: (0,)}, "\uff5e": {T1: (1,)}}
