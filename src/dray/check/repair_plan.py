"""Repairs: the one commit that resolves a finding, or None if no commit can. Pure.

Every repair checks the versions that the finding rests on, so it is made on what was found or not at all.
None deletes data. Those that may let the sweep delete an object later, by a marker or by a lower count, are
refused while the index of the domain has gaps, or entries and heads that contradict each other: the object
may hold the records that the index lacks. In such a stream nothing else is repaired either. Nor is a missing
head rebuilt while the domain has such objects: it would hide that entries are missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from dray.check.findings import Finding, ObjectKind
from dray.check.object_findings import ExcessReferences, Unprotected, Unreferenced, WrongReferences
from dray.check.stream_findings import HeadMismatch, MissingHead, TimeMismatch
from dray.ids import Domain, FileId, MetaDomain, WalId
from dray.index import (
    FileGcMarker,
    GcMarker,
    ParquetFile,
    WalObject,
    encode_entry,
    encode_file,
    encode_head,
    encode_object,
)
from dray.keyspace import (
    file_gc_key,
    file_key,
    head_key,
    key_compacted_key,
    meta_domain_of,
    wal_gc_key,
    wal_object_key,
)
from dray.log import LogSettings
from dray.meta.port import ABSENT, Check, CommitLimits, Delete, Put, Write

_UNKNOWN: Final = 1_000_000
"""More entries than an object can have."""


@dataclass(frozen=True, slots=True)
class Repair:
    """One conditional commit, and what it does."""

    what: str
    domain: Domain
    checks: tuple[Check, ...]
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class RepairContext:
    """What a repair depends on besides the finding."""

    now_ms: int
    settings: LogSettings
    limits: CommitLimits


def plan_repair(finding: Finding, context: RepairContext) -> Repair | None:
    """Return the repair of a finding, if a commit can repair it."""
    match finding:
        case HeadMismatch() | MissingHead(held=False):
            return _rebuild(finding)
        case TimeMismatch(held=False):
            return _raise(finding)
        case WrongReferences():
            return _recount(finding)
        case Unreferenced(held=False):
            return _mark(finding, context)
        case Unprotected():
            return _protect(finding, context)
    return None


def _rebuild(finding: HeadMismatch | MissingHead) -> Repair | None:
    head = finding.rebuilt
    if head is None:
        return None
    put = Put(head_key(finding.stream), encode_head(head))
    what = f"rebuilt the head: it starts at {head.log_start} and ends at {head.high_watermark}"
    return Repair(what, finding.domain, finding.checks, (put,))


def _recount(finding: WrongReferences) -> Repair | None:
    if isinstance(finding, ExcessReferences) and finding.held:
        return None
    record = msgspec.structs.replace(finding.record, references=finding.counted)
    put = Put(finding.checks[0].key, encode_object(record))
    what = f"corrected the count from {finding.record.references} to {finding.counted}"
    return Repair(what, finding.domain, finding.checks, (put,))


def _raise(finding: TimeMismatch) -> Repair:
    """Raise one entry; the other key makes brokers drop the entries that they have cached."""
    writes = (
        Put(finding.key, encode_entry(finding.raised)),
        Put(key_compacted_key(finding.stream), b""),
    )
    own = tuple(check for check in finding.checks if check.key == finding.key)
    what = f"raised the running maximum to {finding.raised.running_max_timestamp_ms}"
    return Repair(what, finding.domain, own, writes)


def _mark(finding: Unreferenced, context: RepairContext) -> Repair | None:
    """Turn the record into a marker, as the removal of the last entry should have done."""
    domain = _number(finding.domain)
    deleted = Delete(finding.checks[0].key)
    put: Put
    if finding.kind is ObjectKind.WAL:
        marker = GcMarker(finding.path, context.now_ms + context.settings.wal_gc_grace_ms)
        put = Put(wal_gc_key(domain, WalId(finding.object_id)), encode_object(marker))
    elif finding.topic is not None and finding.stream is not None:
        due_ms = context.now_ms + context.settings.file_gc_grace_ms
        # Not as if the table had it: a compactor would then remove its rows from the table.
        file = FileGcMarker(finding.path, finding.stream, finding.topic, due_ms, in_table=False)
        put = Put(file_gc_key(domain, FileId(finding.object_id)), encode_file(file))
    else:
        return None
    return Repair("marked it for deletion", finding.domain, finding.checks, (deleted, put))


def _protect(finding: Unprotected, context: RepairContext) -> Repair | None:
    """Record the object, and remove the markers that would have it deleted.

    If its entries are not all known, the count is far too high: rather an object that stays than one that is
    lost. A later check corrects it, once the index has no gaps.
    """
    unmark: Sequence[Write] = [Delete(marker.key) for marker in finding.markers]
    if finding.recorded:
        entry = finding.checks[:1]
        what = "removed the marker for its deletion"
        return Repair(what, finding.domain, (*entry, *finding.markers), tuple(unmark))
    entries_max = max(1, context.limits.checks_max - 1 - len(finding.markers))
    entries = finding.checks[:entries_max]
    references = finding.references + (0 if finding.complete else _UNKNOWN)
    record = _record(finding, references, context)
    if record is None:
        return None
    checks = (Check(record.key, ABSENT), *finding.markers, *entries)
    what = f"recorded it again, with a count of {references}"
    return Repair(what, finding.domain, checks, (record, *unmark))


def _record(finding: Unprotected, references: int, context: RepairContext) -> Put | None:
    domain = _number(finding.domain)
    if finding.kind is ObjectKind.WAL:
        record = WalObject(finding.path, references, context.now_ms, finding.size_bytes)
        return Put(wal_object_key(domain, WalId(finding.object_id)), encode_object(record))
    if finding.topic is None:
        return None
    file = ParquetFile(finding.path, finding.stream, finding.topic, context.now_ms, finding.size_bytes)
    return Put(file_key(domain, FileId(finding.object_id)), encode_file(file))


def _number(domain: Domain) -> MetaDomain:
    """Return the number of a domain of the log."""
    number = meta_domain_of(domain)
    assert number is not None
    return number
