"""Coalescing of ranges into spans."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dray.objects.cloud.store import cut_ranges, merge_ranges
from dray.objects.port import ByteRange

DATA = bytes(range(256)) * 4
RANGES = st.lists(st.builds(ByteRange, st.integers(0, 900), st.integers(1, 100)), min_size=1, max_size=20)


def test_adjacent_ranges_share_a_span() -> None:
    ranges = [ByteRange(100, 10), ByteRange(0, 5), ByteRange(112, 1), ByteRange(3, 50)]
    assert merge_ranges(ranges, 2) == [ByteRange(0, 53), ByteRange(100, 13)]
    assert merge_ranges(ranges, 1) == [ByteRange(0, 53), ByteRange(100, 10), ByteRange(112, 1)]


@given(RANGES, st.integers(0, 64))
def test_ranges_cut_from_spans_equal_the_requested_ones(ranges: list[ByteRange], gap_max: int) -> None:
    spans = merge_ranges(ranges, gap_max)
    fetched = [DATA[span.start : span.end] for span in spans]
    cut = cut_ranges(ranges, spans, fetched)
    assert [bytes(piece) for piece in cut] == [DATA[wanted.start : wanted.end] for wanted in ranges]
    for before, behind in pairwise(spans):
        assert behind.start - before.end > gap_max
