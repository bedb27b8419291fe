"""Where offsets go, for any log and any wish: never outside the log, and a note says why not elsewhere."""

from hypothesis import given
from hypothesis import strategies as st

from dray.cli.offset_plan import Extent, PlannedOffset, Target, planned

OFFSETS = st.integers(min_value=0, max_value=2**63 - 1)
TARGETS = st.one_of(
    st.sampled_from([Target("earliest"), Target("latest")]),
    st.builds(Target, st.just("offset"), OFFSETS),
    st.builds(Target, st.just("timestamp"), OFFSETS),
    st.builds(Target, st.just("shift"), st.integers(min_value=-(2**63), max_value=2**63 - 1)),
)


@st.composite
def extents(draw: st.DrawFn) -> Extent:
    start, end = sorted((draw(OFFSETS), draw(OFFSETS)))
    return Extent(start, end, draw(st.none() | st.integers(start, end)))


def plan(extent: Extent, committed: int | None, target: Target) -> PlannedOffset:
    (one,) = planned("t", {4: extent}, {} if committed is None else {4: committed}, target)
    assert (one.topic, one.partition, one.committed) == ("t", 4, committed)
    return one


@given(extents(), st.none() | OFFSETS, TARGETS)
def test_no_offset_leaves_the_log(extent: Extent, committed: int | None, target: Target) -> None:
    one = plan(extent, committed, target)
    if target.kind == "shift" and committed is None:
        assert (one.new, one.moves) == (None, False)
        assert one.note
        return
    assert one.new is not None
    assert extent.start <= one.new <= extent.end
    assert one.moves == (one.new != committed)


@given(extents(), OFFSETS)
def test_an_offset_inside_the_log_is_taken_as_it_is(extent: Extent, offset: int) -> None:
    one = plan(extent, None, Target("offset", offset))
    inside = extent.start <= offset <= extent.end
    assert (one.new == offset) == inside
    assert (one.note == "") == inside


def test_each_kind() -> None:
    extent = Extent(10, 20, 15)
    assert plan(extent, 12, Target("earliest")) == PlannedOffset("t", 4, 12, 10)
    assert plan(extent, 12, Target("latest")) == PlannedOffset("t", 4, 12, 20)
    assert plan(extent, 12, Target("offset", 9)) == PlannedOffset("t", 4, 12, 10, "9 is before the start")
    assert plan(extent, 12, Target("offset", 21)) == PlannedOffset("t", 4, 12, 20, "21 is beyond the end")
    assert plan(extent, 12, Target("timestamp", 0)) == PlannedOffset("t", 4, 12, 15)
    late = Extent(10, 20, None)
    assert plan(late, 12, Target("timestamp", 0)) == PlannedOffset("t", 4, 12, 20, "no record is so new")
    assert plan(extent, 12, Target("shift", -1)) == PlannedOffset("t", 4, 12, 11)
    assert plan(extent, 12, Target("shift", -5)) == PlannedOffset("t", 4, 12, 10, "7 is before the start")
