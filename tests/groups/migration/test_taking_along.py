"""What members of a classic group have when it is changed over: what their clients may be using."""

from dray.groups.classic import Phase
from dray.groups.consumer import Progress
from dray.groups.faults import Fault
from tests.groups.consumer import builders as consumer
from tests.groups.consumer.builders import image, parts, topic_id
from tests.groups.migration.builders import (
    Desk,
    a_beat,
    a_join,
    a_sync,
    given,
    pass_initial_delay,
    said,
    stable_classic,
)

T = topic_id("t")
NOBODY = consumer.a_join("new")
"""Joins without a subscription, so that nothing but the change itself is seen."""


def _completing(owned: dict[str, tuple[int, ...]]) -> Desk:
    """`a` has partitions 0 and 1, and both have joined again, `a` with a word on what it owns."""
    desk = Desk(image(t=2))
    stable_classic(desk, {"a": given(t=[0, 1]), "b": given()})
    desk.join(a_join("b", said("t", "u")))
    desk.join(a_join("a", said("t", owned=owned)))
    assert desk.classics.phase is Phase.COMPLETING
    return desk


def test_a_cooperative_member_goes_on_using_what_it_owns() -> None:
    desk = _completing({"t": (0, 1)})
    desk.sync(a_sync("a", 2, assignments=(("a", given(t=[0])), ("b", given(t=[1])))))
    desk.heartbeat(NOBODY)
    assert desk.consumers.members["a"].assigned == {T: {0: 2, 1: 2}}
    assert desk.consumers.members["b"].assigned == {}
    assert desk.consumers.targets["b"] == parts(t=[1])


def test_an_eager_member_has_given_up_everything() -> None:
    desk = _completing({})
    desk.heartbeat(NOBODY)
    assert desk.consumers.members["a"].assigned == {}
    assert desk.heartbeat(consumer.a_beat("new", 2, names=("t",))).assignment == parts(t=[1])


def test_who_has_not_what_it_is_to_have_is_told_to_join_again() -> None:
    desk = _completing({"t": (0, 1)})
    desk.sync(a_sync("a", 2, assignments=(("a", given(t=[0])), ("b", given(t=[1])))))
    desk.heartbeat(NOBODY)
    assert desk.consumers.members["a"].progress is Progress.UNRELEASED
    assert desk.beat(a_beat("a", 2)) is Fault.REBALANCE_IN_PROGRESS
    assert desk.beat(a_beat("b", 2)) is Fault.NONE
    desk.join(a_join("a", said("t", owned={"t": (0,)})))
    assert desk.consumers.members["a"].assigned == {T: {0: 2}}
    assert desk.beat(a_beat("b", 2)) is Fault.REBALANCE_IN_PROGRESS


def test_an_interrupted_rebalance_takes_nothing_from_anybody() -> None:
    desk = _completing({"t": (0, 1)})
    desk.join(a_join("b", said("t")))
    assert desk.classics.phase is Phase.PREPARING
    assert desk.classics.members["a"].assignment == b""
    desk.heartbeat(NOBODY)
    assert desk.consumers.members["a"].assigned == {T: {0: 2, 1: 2}}


def test_who_has_fetched_knows_better_than_who_owned() -> None:
    """What `a` said that it owns is long with `b`."""
    desk = Desk(image(t=1))
    joins = {"a": said("t", owned={"t": (0,)}), "b": said("t")}
    for member_id, metadata in joins.items():
        desk.join(a_join(new_id=member_id, metadata=metadata, must_know_id=False))
    pass_initial_delay(desk)
    desk.sync(a_sync("b", 1))
    desk.sync(a_sync("a", 1, assignments=(("a", given()), ("b", given(t=[0])))))
    desk.heartbeat(NOBODY)
    assert desk.consumers.members["a"].assigned == {}
    assert desk.consumers.members["b"].assigned == {T: {0: 1}}


def test_two_that_own_the_same_do_not_both_have_it() -> None:
    desk = Desk(image(t=1))
    for member_id in ("a", "b"):
        metadata = said("t", owned={"t": (0,)})
        desk.join(a_join(new_id=member_id, metadata=metadata, must_know_id=False))
    desk.heartbeat(NOBODY)
    held = [member.assigned for member in desk.consumers.members.values() if member.assigned]
    assert held == [{T: {0: 0}}]


def test_of_two_that_own_the_same_the_later_one_has_it() -> None:
    desk = Desk(image(t=1))
    for member_id, generation in (("a", 3), ("b", 5), ("c", 4)):
        metadata = said("t", version=2, owned={"t": (0,)}, generation=generation)
        desk.join(a_join(new_id=member_id, metadata=metadata, must_know_id=False))
    desk.heartbeat(NOBODY)
    assert [key for key, member in desk.consumers.members.items() if member.assigned] == ["b"]
