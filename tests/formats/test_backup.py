"""Backups of the metadata, version 1: golden bytes, round trips, and damage of every kind."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.formats.backup_v1 import (
    BackupHeader,
    BackupTotals,
    Begun,
    CorruptBackup,
    Ended,
    FrameReader,
    FrameWriter,
    Record,
    Records,
)

GOLDEN = Path(__file__).parent / "golden" / "metadata-v1.backup"
HEADER = BackupHeader(
    "0002-20261119T120000123Z-00c0ffee", 1_795_089_600_123, "0.1.0", "sqlite", b'{"format":2}', 42
)
PAGES = [
    ("groups-0", [Record("/dray/v1/group-offsets/g%2F1/orders/0", b"\x91\xa2o1")]),
    ("cluster", [Record("/dray/v1/topics/orders", b"\x00\xff" * 40), Record("/dray/v1/ünï", b"")]),
]


def encoded(pages: Sequence[tuple[str, list[Record]]] = PAGES) -> list[bytes]:
    """Return the frames; the first one has the preamble too."""
    writer = FrameWriter()
    return [
        writer.begin(HEADER),
        *(writer.add(domain, records) for domain, records in pages),
        writer.end(),
    ]


def decoded(data: bytes, piece: int = 10**9) -> list[Begun | Records | Ended]:
    reader = FrameReader("b")
    parts = [
        part for start in range(0, len(data), piece) for part in reader.feed(data[start : start + piece])
    ]
    reader.finish()
    return parts


def expected(pages: Sequence[tuple[str, list[Record]]] = PAGES) -> list[Begun | Records | Ended]:
    records = [record for _, some in pages for record in some]
    totals = BackupTotals(len(records), sum(len(record.value) for record in records))
    return [Begun(HEADER), *(Records(domain, some) for domain, some in pages), Ended(totals)]


def test_golden_backup_is_read() -> None:
    assert decoded(GOLDEN.read_bytes()) == expected()


def test_preamble_and_frame_kinds_of_the_golden_backup() -> None:
    data = GOLDEN.read_bytes()
    assert data[:9] == b"DRAYMB1\x00\x01"
    assert list(_kinds(data)) == [b"H", b"R", b"R", b"E"]


def _kinds(data: bytes) -> Iterator[bytes]:
    at = 9
    while at < len(data):
        yield data[at : at + 1]
        at += 9 + int.from_bytes(data[at + 5 : at + 9]) + 4


_records = st.lists(st.builds(Record, st.text(max_size=20), st.binary(max_size=200)), min_size=1, max_size=5)


@given(st.lists(st.tuples(st.text(max_size=10), _records), max_size=5), st.integers(1, 400))
def test_round_trip_in_pieces_of_any_size(pages: list[tuple[str, list[Record]]], piece: int) -> None:
    assert decoded(b"".join(encoded(pages)), piece) == expected(pages)


@settings(max_examples=400)
@given(st.integers(0, len(GOLDEN.read_bytes()) - 1), st.integers(1, 255))
def test_every_changed_byte_is_noticed(at: int, change: int) -> None:
    data = bytearray(GOLDEN.read_bytes())
    data[at] ^= change
    with pytest.raises(CorruptBackup, match="backup b is corrupt at byte"):
        decoded(bytes(data))


def test_every_truncation_is_noticed() -> None:
    data = GOLDEN.read_bytes()
    for length in range(len(data)):
        with pytest.raises(CorruptBackup, match="truncated"):
            decoded(data[:length])


@given(st.binary(max_size=200))
def test_arbitrary_bytes_after_the_preamble(data: bytes) -> None:
    with pytest.raises(CorruptBackup):
        decoded(GOLDEN.read_bytes()[:9] + data)


def test_missing_repeated_and_exchanged_frames_are_noticed() -> None:
    header, one, two, end = encoded()
    for frames in (
        [header, two, end],
        [header, one, one, two, end],
        [header, two, one, end],
        [one, two, end],
    ):
        with pytest.raises(CorruptBackup):
            decoded(b"".join(frames))


def test_bytes_after_the_end_are_noticed() -> None:
    with pytest.raises(CorruptBackup, match="something after the end"):
        decoded(GOLDEN.read_bytes() + b"\0")


def test_other_file_and_newer_version_are_named() -> None:
    with pytest.raises(CorruptBackup, match=r"starts with b'SQLite ', a backup starts with b'DRAYMB1'"):
        decoded(b"SQLite format 3\0")
    with pytest.raises(CorruptBackup, match="unknown version 2: written by a newer Dray"):
        decoded(b"DRAYMB1\x00\x02" + b"\0" * 40)


def test_frames_are_compressed() -> None:
    many = [Record(f"/dray/v1/wal/objects/0/{number:032x}", b"same" * 20) for number in range(500)]
    _, one, _ = encoded([("log-0", many)])
    assert len(one) < sum(len(record.key) + len(record.value) for record in many) / 5
