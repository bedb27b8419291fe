"""What holds of stream, table and objects, whatever was killed when. A rule returns what is wrong, in words.

whole     the table has every offset of a partition from where the log begins to where it is compacted, once
same      a row is the record that readers of the stream saw at its offset
there     what the index or the table names is in the store
nothing   after a sweep, nothing else is

What holds of the stream by itself is in `tests.chaos.rules`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.chaos.compaction.seen import Seen

Rows = Mapping[int, Sequence[tuple[int, str]]]


class Extent(NamedTuple):
    """From where to where a partition's table must reach, at least."""

    log_start: int
    compacted: int


def table_violations(rows: Rows, extents: Mapping[int, Extent], seen: Seen) -> list[str]:
    """Compare the table with how far it must reach and with what was seen of the stream."""
    wrong: list[str] = []
    for partition, extent in extents.items():
        found = rows.get(partition, ())
        wrong += _whole(partition, [offset for offset, _ in found], extent)
        wrong += _same(partition, found, seen)
    return wrong


def equality_violations(rows: Rows, found: Rows) -> list[str]:
    """Compare the table with the stream when there is nothing left to compact: they are the same."""
    wrong = []
    for partition, records in found.items():
        mine, theirs = list(rows.get(partition, ())), list(records)
        if mine != theirs:
            first = next((pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1]), "an end")
            sizes = f"{len(mine)} rows and {len(theirs)} records"
            wrong.append(f"whole: partition {partition} has {sizes}, which differ at {first}")
    return wrong


def reference_violations(named: Collection[str], stored: Collection[str], by: str) -> list[str]:
    return [
        f"there: {path}, which {by} names, is not in the store" for path in sorted(set(named) - set(stored))
    ]


def leftover_violations(named: Collection[str], stored: Collection[str]) -> list[str]:
    return [f"nothing: {path} is left, and nothing names it" for path in sorted(set(stored) - set(named))]


def _whole(partition: int, offsets: Sequence[int], extent: Extent) -> Iterator[str]:
    """Look at what the log still has: what lies before goes out of the table file by file, in any order."""
    kept = [offset for offset in offsets if offset >= extent.log_start]
    if extent.compacted <= extent.log_start and not kept:
        return
    if not kept:
        yield f"whole: partition {partition} has no rows, it should have those of {extent}"
        return
    if kept[0] > extent.log_start or kept[-1] + 1 < extent.compacted:
        reach = f"{kept[0]} to {kept[-1]}"
        yield f"whole: partition {partition} has rows {reach}, it should have those of {extent}"
    for expected, offset in enumerate(kept, kept[0]):
        if offset != expected:
            what = "again" if offset < expected else f"where {expected} should be"
            yield f"whole: partition {partition} has {offset} {what} in its table"
            return


def _same(partition: int, found: Sequence[tuple[int, str]], seen: Seen) -> Iterator[str]:
    for offset, name in found:
        before = seen.at(partition, offset)
        if (before is not None and before != name) or name.startswith("damaged"):
            yield f"same: row {offset} of partition {partition} is {name}, the stream had {before}"
