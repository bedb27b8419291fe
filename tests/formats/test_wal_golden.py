"""Golden WAL objects, and the page that explains one of them. See golden/README.md."""

import re
from pathlib import Path
from uuid import UUID

import pytest

from dray.formats import wal_v1
from dray.ids import MetaDomain, StreamId, WalId
from dray.records import decode_batch
from tests.records.builders import reference_crc32c

GOLDEN = Path(__file__).parent / "golden"
PAGE = Path(__file__).parents[2] / "docs" / "formats" / "wal-v1.md"
T_MS = 1_700_000_000_000

FIRST = bytes.fromhex(
    "00000000000000000000003affffffff0225c2c2fe0000000000000000018bcfe568000000018bcfe56800"
    "ffffffffffffffffffffffffffff00000001100000000261023100"
)
SECOND = bytes.fromhex(
    "000000000000000000000042ffffffff02a16db7870000000000010000018bcfe568050000018bcfe56807"
    "0000000000001267000000000000000000021000000002620232000e00040201023300"
)
THIRD = bytes.fromhex(
    "000000000000000000000039ffffffff02887cd5be0000000000000000018bcfe568010000018bcfe56801"
    "ffffffffffffffffffffffffffff000000010e00000002630100"
)


def _two_streams() -> wal_v1.EncodedWal:
    return wal_v1.encode(
        WalId(UUID("0190163d-8694-739b-aea5-966c26f8ad91").bytes),
        MetaDomain(3),
        T_MS + 50,
        [
            wal_v1.ChunkDraft(StreamId(7), [FIRST, SECOND], 3, T_MS, T_MS + 7),
            wal_v1.ChunkDraft(StreamId(12), [THIRD], 1, T_MS + 1, T_MS + 1),
        ],
    )


def _extremes() -> wal_v1.EncodedWal:
    batch = b"not a batch: the format does not look inside"
    chunk = wal_v1.ChunkDraft(StreamId(2**64 - 1), [batch], 2**32 - 1, -(2**63), 2**63 - 1)
    return wal_v1.encode(WalId(b"\xff" * 16), MetaDomain(2**32 - 1), -1, [chunk])


def _golden(name: str) -> bytes:
    return (GOLDEN / f"wal-v1-{name}.wo").read_bytes()


@pytest.mark.parametrize(("name", "made"), [("two-streams", _two_streams()), ("extremes", _extremes())])
def test_writer_produces_the_golden_bytes(name: str, made: wal_v1.EncodedWal) -> None:
    assert b"".join(made.parts) == _golden(name)


@pytest.mark.parametrize("name", ["two-streams", "extremes"])
def test_footer_is_the_crc32c_of_everything_before_it(name: str) -> None:
    whole = _golden(name)
    assert reference_crc32c(whole[:-4]) == int.from_bytes(whole[-4:], "big")


def test_two_streams_are_read() -> None:
    decoded = wal_v1.decode("golden", _golden("two-streams"))
    assert decoded.header[1:4] == (3, T_MS + 50, 2)
    records = {
        chunk.entry.stream: [
            (record.key, record.value) for _, batch in chunk.batches for record in decode_batch(batch)
        ]
        for chunk in decoded.chunks
    }
    assert records == {7: [(b"a", b"1"), (b"b", b"2"), (None, b"3")], 12: [(b"c", None)]}


def test_extremes_are_read() -> None:
    decoded = wal_v1.decode("golden", _golden("extremes"))
    (chunk,) = decoded.chunks
    assert decoded.header == (b"\xff" * 16, 2**32 - 1, -1, 1, 49 + 48)
    assert chunk.entry == (2**64 - 1, 49, 48, 2**32 - 1, 1, -(2**63), 2**63 - 1)
    assert [bytes(batch) for _, batch in chunk.batches] == [b"not a batch: the format does not look inside"]


def _dump_lines() -> list[tuple[int, bytes, str]]:
    """Return the lines of the page's hex dump: position, bytes, description."""
    _, dump, _ = re.split(r"```hexdump\n|\n```\s*\Z", PAGE.read_text(encoding="utf-8"))
    parsed = []
    for line in dump.splitlines():
        position, rest = line.split("  ", 1)
        parsed.append((int(position, 16), bytes.fromhex(rest[:47]), rest[49:]))
    return parsed


def test_page_shows_the_golden_bytes() -> None:
    lines = _dump_lines()
    assert b"".join(shown for _, shown, _ in lines) == _golden("two-streams")
    assert [position for position, _, _ in lines] == [
        sum(len(shown) for _, shown, _ in lines[:number]) for number in range(len(lines))
    ]


def test_numbers_on_the_page_are_right() -> None:
    said = [
        (int.from_bytes(shown, "big"), int(match[1]))
        for _, shown, text in _dump_lines()
        if (match := re.match(r"\w+ (\d+)(?: =|$)", text))
    ]
    assert len(said) == 22
    assert all(actual == written for actual, written in said)
