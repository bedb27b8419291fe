"""Which spans to fetch for some ranges, and how to cut the ranges out again. Pure."""

from bisect import bisect_right
from collections.abc import Sequence

from typing_extensions import Buffer

from dray.objects.port import ByteRange


def merge_ranges(ranges: Sequence[ByteRange], gap_max: int) -> list[ByteRange]:
    """Return spans, in order and apart, that cover `ranges`; those at most `gap_max` apart share one."""
    spans: list[ByteRange] = []
    for wanted in sorted(ranges, key=lambda each: each.start):
        if spans and wanted.start - spans[-1].end <= gap_max:
            start = spans[-1].start
            spans[-1] = ByteRange(start, max(spans[-1].end, wanted.end) - start)
        else:
            spans.append(wanted)
    return spans


def cut_ranges(
    ranges: Sequence[ByteRange], spans: Sequence[ByteRange], fetched: Sequence[Buffer]
) -> list[Buffer]:
    """Return a view of each range, in the order asked for, from the spans that `merge_ranges` gave."""
    starts = [span.start for span in spans]
    views = [memoryview(buffer) for buffer in fetched]
    cut: list[Buffer] = []
    for wanted in ranges:
        at = bisect_right(starts, wanted.start) - 1
        offset = wanted.start - starts[at]
        cut.append(views[at][offset : offset + wanted.length])
    return cut
