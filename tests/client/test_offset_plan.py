"""Planned offsets of a reset: never outside the log, and a note says where they were moved."""

from hypothesis import given
from hypothesis import strategies as st

from dray.client.offset_reset import PartitionBounds, PlannedOffset, Target, plan_offsets

OFFSETS = st.integers(min_value=0, max_value=2**63 - 1)
TARGETS = st.one_of(
    st.sampled_from([Target("earliest"), Target("latest")]),
    st.builds(Target, st.just("offset"), OFFSETS),
    st.builds(Target, st.just("timestamp"), OFFSETS),
    st.builds(Target, st.just("shift"), st.integers(min_value=-(2**63), max_value=2**63 - 1)),
)


@st.composite
def bounds(draw: st.DrawFn) -> PartitionBounds:
    start, end = sorted((draw(OFFSETS), draw(OFFSETS)))
    return PartitionBounds(start, end, draw(st.none() | st.integers(start, end)))


def plan(bound: PartitionBounds, committed: int | None, target: Target) -> PlannedOffset:
    (one,) = plan_offsets("t", {4: bound}, {} if committed is None else {4: committed}, target)
    assert (one.topic, one.partition, one.committed) == ("t", 4, committed)
    return one


@given(bounds(), st.none() | OFFSETS, TARGETS)
def test_planned_offset_stays_inside_the_log(
    bound: PartitionBounds, committed: int | None, target: Target
) -> None:
    one = plan(bound, committed, target)
    if target.kind == "shift" and committed is None:
        assert (one.new, one.moves) == (None, False)
        assert one.note
        return
    assert one.new is not None
    assert bound.start <= one.new <= bound.end
    assert one.moves == (one.new != committed)


@given(bounds(), OFFSETS)
def test_offset_inside_the_log_is_planned_unchanged(bound: PartitionBounds, offset: int) -> None:
    one = plan(bound, None, Target("offset", offset))
    inside = bound.start <= offset <= bound.end
    assert (one.new == offset) == inside
    assert (one.note == "") == inside


def test_every_kind_of_target_is_planned_within_the_log() -> None:
    bound = PartitionBounds(10, 20, 15)
    assert plan(bound, 12, Target("earliest")) == PlannedOffset("t", 4, 12, 10)
    assert plan(bound, 12, Target("latest")) == PlannedOffset("t", 4, 12, 20)
    assert plan(bound, 12, Target("offset", 9)) == PlannedOffset("t", 4, 12, 10, "9 is before the start")
    assert plan(bound, 12, Target("offset", 21)) == PlannedOffset("t", 4, 12, 20, "21 is beyond the end")
    assert plan(bound, 12, Target("timestamp", 0)) == PlannedOffset("t", 4, 12, 15)
    late = PartitionBounds(10, 20, None)
    assert plan(late, 12, Target("timestamp", 0)) == PlannedOffset("t", 4, 12, 20, "no record is that recent")
    assert plan(bound, 12, Target("shift", -1)) == PlannedOffset("t", 4, 12, 11)
    assert plan(bound, 12, Target("shift", -5)) == PlannedOffset("t", 4, 12, 10, "7 is before the start")
