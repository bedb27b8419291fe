"""Invariants of stream, table and objects under any sequence of faults; a rule returns its violations.

complete     the table has each offset of a partition from the log start to the end of compaction, once
equal        a row is the record that consumers of the stream saw at its offset
referenced   every object that the index or the table references is in the store
leftover     after a sweep the store has no other objects

The rules of the stream alone are in `tests.chaos.rules`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.chaos.compaction.observations import Observations

Rows = Mapping[int, Sequence[tuple[int, str]]]


class Extent(NamedTuple):
    """The offsets of a partition that the table must have at least."""

    log_start: int
    compacted: int


def table_violations(rows: Rows, extents: Mapping[int, Extent], seen: Observations) -> list[str]:
    """Check the table's rows against the offsets it must have and the records consumers saw."""
    violations: list[str] = []
    for partition, extent in extents.items():
        found = rows.get(partition, ())
        violations += _complete(partition, [offset for offset, _ in found], extent)
        violations += _equal(partition, found, seen)
    return violations


def equality_violations(rows: Rows, found: Rows) -> list[str]:
    """Compare the table with the stream once everything is compacted: they must be equal."""
    violations = []
    for partition, records in found.items():
        in_table, in_log = list(rows.get(partition, ())), list(records)
        if in_table != in_log:
            pairs = zip(in_table, in_log, strict=False)
            first = next((pair for pair in pairs if pair[0] != pair[1]), "an end")
            sizes = f"{len(in_table)} rows and {len(in_log)} records"
            violations.append(f"complete: partition {partition} has {sizes}, which differ at {first}")
    return violations


def reference_violations(referenced: Collection[str], stored: Collection[str], by: str) -> list[str]:
    missing = sorted(set(referenced) - set(stored))
    return [f"referenced: {path}, referenced by {by}, is not in the store" for path in missing]


def leftover_violations(referenced: Collection[str], stored: Collection[str]) -> list[str]:
    return [f"leftover: {path} is not referenced" for path in sorted(set(stored) - set(referenced))]


def _complete(partition: int, offsets: Sequence[int], extent: Extent) -> Iterator[str]:
    """Check from the log start on: rows before it are removed file by file, in any order."""
    kept = [offset for offset in offsets if offset >= extent.log_start]
    if extent.compacted <= extent.log_start and not kept:
        return
    if not kept:
        yield f"complete: partition {partition} has no rows, expected {extent}"
        return
    if kept[0] > extent.log_start or kept[-1] + 1 < extent.compacted:
        reach = f"{kept[0]} to {kept[-1]}"
        yield f"complete: partition {partition} has rows {reach}, expected {extent}"
    for expected, offset in enumerate(kept, kept[0]):
        if offset != expected:
            what = "again" if offset < expected else f"where {expected} should be"
            yield f"complete: the table of partition {partition} has {offset} {what}"
            return


def _equal(partition: int, found: Sequence[tuple[int, str]], seen: Observations) -> Iterator[str]:
    for offset, name in found:
        before = seen.at(partition, offset)
        if (before is not None and before != name) or name.startswith("corrupt"):
            yield f"equal: row {offset} of partition {partition} is {name}, the stream had {before}"
