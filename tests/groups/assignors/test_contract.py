"""Contract of assignors, for every assignor and any group."""

from collections.abc import Mapping
from random import Random
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.groups.assignors import Assignor
from dray.groups.assignors.contract import id_order
from dray.groups.consumer import ASSIGNORS
from tests.groups.assignors.measures import violations
from tests.groups.assignors.scenes import Scene, member, small_id
from tests.groups.assignors.strategies import scenes

K = TypeVar("K")
V = TypeVar("V")
every_assignor = pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS)


def test_uniform_is_the_default() -> None:
    assert list(ASSIGNORS) == ["uniform", "range"]


@every_assignor
@given(scene=st.one_of(scenes(), scenes(identical=True), scenes(valid=False)))
def test_every_partition_is_assigned_once_and_only_to_subscribers(assignor: Assignor, scene: Scene) -> None:
    assert not list(violations(scene, scene.assigned(assignor)))


@every_assignor
@given(scene=st.one_of(scenes(), scenes(identical=True)))
def test_unchanged_input_keeps_the_assignment(assignor: Assignor, scene: Scene) -> None:
    once = scene.assigned(assignor)
    again = scene.after(once).assigned(assignor)
    assert all(again[member_id] is once[member_id] for member_id in scene.members)


@every_assignor
@given(scene=st.one_of(scenes(), scenes(valid=False)), order=st.randoms(use_true_random=False))
def test_order_of_the_input_does_not_matter(assignor: Assignor, scene: Scene, order: Random) -> None:
    def shuffled(mapping: Mapping[K, V]) -> dict[K, V]:
        items = list(mapping.items())
        order.shuffle(items)
        return dict(items)

    current = {member_id: shuffled(held) for member_id, held in shuffled(scene.current).items()}
    other = Scene(shuffled(scene.members), shuffled(scene.counts), current)
    assert other.assigned(assignor) == scene.assigned(assignor)


@every_assignor
def test_empty_inputs_give_empty_assignments(assignor: Assignor) -> None:
    topic = small_id(1)
    assert Scene({}, {topic: 3}, {"left": {topic: (0, 1, 2)}}).assigned(assignor) == {}
    assert Scene({"m": member()}, {topic: 3}, {"m": {topic: (0,)}}).assigned(assignor) == {"m": {}}
    assert Scene({"m": member(topic)}, {}, {"m": {topic: (0,)}}).assigned(assignor) == {"m": {}}


def test_topic_ids_are_ordered_as_in_java() -> None:
    negative, second_half_negative = bytes([0x80, *[0] * 15]), small_id(2**63)
    ids = [small_id(5), small_id(0), second_half_negative, bytes([0xFF] * 16), negative]
    assert sorted(ids, key=id_order) == ids[::-1]
