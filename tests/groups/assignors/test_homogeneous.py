"""Uniform assignor with identical subscriptions."""

from itertools import combinations

from hypothesis import given

from dray.groups.assignors import assign_uniformly
from tests.groups.assignors.measures import kept, size, sizes, slots
from tests.groups.assignors.scenes import Scene, member, small_id
from tests.groups.assignors.strategies import scenes

T1, T2, DELETED = small_id(1), small_id(2), small_id(9)


@given(scene=scenes(identical=True))
def test_shares_differ_by_one_at_most(scene: Scene) -> None:
    loads = sizes(scene.assigned(assign_uniformly)).values()
    assert max(loads) - min(loads) <= 1


@given(scene=scenes(identical=True))
def test_no_assignment_of_equal_shares_moves_less(scene: Scene) -> None:
    assert kept(scene.current, scene.assigned(assign_uniformly)) == most_kept(scene)


def most_kept(scene: Scene) -> int:
    """Try every choice of members with larger shares; each can keep all it holds up to its share."""
    topics = next(iter(scene.members.values())).topic_ids & scene.counts.keys()
    held = [
        sum(topic in topics for topic, _ in slots(scene.current.get(member_id, {})))
        for member_id in scene.members
    ]
    smaller, extras = divmod(sum(scene.counts[topic] for topic in topics), len(held))
    return max(
        sum(min(have, smaller + (place in larger)) for place, have in enumerate(held))
        for larger in combinations(range(len(held)), extras)
    )


def test_new_group_is_assigned_in_order() -> None:
    scene = Scene({"b": member(T1, T2), "a": member(T1, T2)}, {T2: 2, T1: 3})
    assert scene.assigned(assign_uniformly) == {"a": {T1: (0, 1)}, "b": {T1: (2,), T2: (0, 1)}}


def test_new_member_gets_the_last_partitions_of_others() -> None:
    members = {member_id: member(T1, T2) for member_id in "abc"}
    scene = Scene(members, {T1: 3, T2: 3}, {"a": {T1: (0, 1), T2: (0,)}, "c": {T1: (2,), T2: (1, 2)}})
    assert scene.assigned(assign_uniformly) == {
        "a": {T1: (0, 1)},
        "b": {T2: (0, 2)},
        "c": {T1: (2,), T2: (1,)},
    }


def test_member_with_the_larger_share_keeps_it() -> None:
    scene = Scene({"a": member(T1), "b": member(T1)}, {T1: 3}, {"a": {T1: (2,)}, "b": {T1: (0, 1)}})
    assert scene.assigned(assign_uniformly) == scene.current


def test_unsubscribed_partitions_are_unassigned() -> None:
    scene = Scene({"a": member(T1), "b": member(T1)}, {T1: 2, T2: 2}, {"a": {T2: (0, 1)}, "b": {T1: (0, 1)}})
    assert scene.assigned(assign_uniformly) == {"a": {T1: (1,)}, "b": {T1: (0,)}}


def test_subscriptions_that_differ_only_in_deleted_topics_count_as_identical() -> None:
    """With Kafka's rule for different subscriptions, the partitions would be assigned round robin."""
    scene = Scene({"a": member(T1, DELETED), "b": member(T1)}, {T1: 4})
    assert scene.assigned(assign_uniformly) == {"a": {T1: (0, 1)}, "b": {T1: (2, 3)}}


def test_members_beyond_the_number_of_partitions_get_none() -> None:
    scene = Scene({member_id: member(T1) for member_id in "abcd"}, {T1: 2}, {"b": {T1: (1,)}})
    targets = scene.assigned(assign_uniformly)
    assert targets["b"] == {T1: (1,)}
    assert sorted(map(size, targets.values())) == [0, 0, 1, 1]
