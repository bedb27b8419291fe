"""Deviating batches: records that contradict their header or differ from what Apache Kafka's clients write.

Each deviation concerns the last records of a batch, three or a single one: their offset deltas, their
timestamps or those of the header, their number, the lengths inside them, their attributes, or how they are
compressed. They are alone in a *small* batch, which a broker validates, and follow twenty valid records in a
*large* one, of which it validates the first sixteen at most. Checksums are correct.
"""

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cramjam import snappy

from dray.records import Codec, compress
from dray.records.header import HEADER_BYTES, LENGTH_END, MAGIC_V2, BatchHeader, checksummed
from dray.records.primitives import write_varlong

TIME_MS: Final = 1_700_000_000_000
"""Timestamp of the first of the three records; the others follow at intervals of a second."""
FAR_MS: Final = 4_102_444_800_000
"""Further in the future than a topic allows by default."""
SMALL, LARGE = 0, 20
"""Valid records before the three."""


@dataclass(frozen=True)
class RawRecord:
    """A record whose every length can be wrong."""

    offset_delta: int = 0
    timestamp_delta: int = 0
    key: bytes = b"k"
    value: bytes = b"v"
    key_length: int | None = None
    value_length: int | None = None
    header_count: int = 1
    header_key_length: int = 1
    left_over: bytes = b""
    """Bytes after the last header, inside the record's length."""
    length_error: int = 0
    attributes: int = 0

    def encoded(self) -> bytes:
        body = bytearray((self.attributes,))
        for number in (self.timestamp_delta, self.offset_delta):
            write_varlong(body, number)
        _append(body, self.key, self.key_length)
        _append(body, self.value, self.value_length)
        write_varlong(body, self.header_count)
        _append(body, b"h", self.header_key_length)
        _append(body, b"x", None)
        body += self.left_over
        out = bytearray()
        write_varlong(out, len(body) + self.length_error)
        return bytes(out + body)


def _append(out: bytearray, data: bytes, length: int | None) -> None:
    write_varlong(out, len(data) if length is None else length)
    out += data


THREE: Final = tuple(RawRecord(n, 1000 * n, value=b"v%d" % n) for n in range(3))


@dataclass(frozen=True)
class Deviation:
    """One deviation; `extra` is added to the record count of the header."""

    name: str
    records: Sequence[RawRecord] = THREE
    extra: int = 0
    tail: bytes = b""
    """Bytes after the last record."""
    header: Mapping[str, int] = field(default_factory=dict)
    codecs: Sequence[Codec] = tuple(Codec)
    pack: Callable[[Codec, bytes], bytes] = compress

    def __str__(self) -> str:
        return self.name

    def batch(self, codec: Codec = Codec.NONE, before: int = SMALL) -> bytes:
        """Return the batch as a client sends it, with that many valid records before the last ones."""
        valid = [RawRecord(n, 0, value=b"valid%d" % n) for n in range(before)]
        last = [replace(one, offset_delta=one.offset_delta + before) for one in self.records]
        plain = b"".join(one.encoded() for one in (*valid, *last)) + self.tail
        packed = self.pack(codec, plain)
        count = before + len(self.records) + self.extra
        header = BatchHeader(
            base_offset=0,
            batch_length=HEADER_BYTES - LENGTH_END + len(packed),
            leader_epoch=-1,
            magic=MAGIC_V2,
            crc=0,
            attributes=codec,
            last_offset_delta=count - 1,
            base_timestamp=TIME_MS,
            max_timestamp=TIME_MS + 2000,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            record_count=count,
        )
        return checksummed(header._replace(**self.header), packed)[1] + packed


def _deltas(name: str, *deltas: int) -> Deviation:
    return Deviation(
        name, [replace(one, offset_delta=delta) for one, delta in zip(THREE, deltas, strict=True)]
    )


def _max_timestamp(name: str, latest: int) -> Deviation:
    return Deviation(name, header={"max_timestamp": latest})


def _times(name: str, *deltas: int, base: int = TIME_MS, latest: int) -> Deviation:
    records = [replace(one, timestamp_delta=delta) for one, delta in zip(THREE, deltas, strict=True)]
    return Deviation(name, records, header={"base_timestamp": base, "max_timestamp": latest})


def _at(place: int, wrong: Mapping[str, Any]) -> Sequence[RawRecord]:
    return [replace(one, **wrong) if n == place else one for n, one in enumerate(THREE)]


VALID: Final = Deviation("valid")

OFFSET_DELTAS: Final = (
    _deltas("a gap", 0, 1, 5),
    _deltas("not from 0", 1, 2, 3),
    _deltas("beyond the last", 5, 6, 7),
    _deltas("the first twice", 0, 0, 1),
    _deltas("the last twice", 0, 1, 1),
    _deltas("a gap and the last twice", 0, 2, 2),
    _deltas("all the same", 0, 0, 0),
    _deltas("descending", 2, 1, 0),
    _deltas("out of order", 0, 2, 1),
    _deltas("below 0", -1, 0, 1),
)

BEYOND_32_BITS: Final = (
    _deltas("offset deltas beyond 32 bits", 0, 2**33 + 1, 2**33 + 2),
    Deviation("key length beyond 32 bits", _at(2, {"key_length": 2**33 + 1})),
    Deviation("value length beyond 32 bits", _at(2, {"value_length": 2**33 + 2})),
)
"""librdkafka reads all bits of an offset delta, and continues after such an offset."""

TIMESTAMPS: Final = (
    _max_timestamp("latest -1", -1),
    _max_timestamp("latest 0", 0),
    _max_timestamp("latest before the base", TIME_MS - 5),
    _max_timestamp("latest the base", TIME_MS),
    _max_timestamp("latest too early", TIME_MS + 500),
    _max_timestamp("latest too late", TIME_MS + 5000),
    _max_timestamp("latest far ahead", FAR_MS),
    _max_timestamp("latest the greatest number", 2**63 - 1),
    _max_timestamp("latest the least number", -(2**63)),
    _times("descending, latest the last one's", 0, -1000, -2000, latest=TIME_MS - 2000),
    _times("all before the base", -1000, -2000, -3000, latest=TIME_MS),
    _times("base -1", *(TIME_MS + n for n in range(1, 4)), base=-1, latest=TIME_MS + 2),
    _times("base 0", *(TIME_MS + n for n in range(3)), base=0, latest=TIME_MS + 2),
    _times("base far ahead", *([TIME_MS - FAR_MS] * 3), base=FAR_MS, latest=FAR_MS),
    _times("no timestamps", 0, 0, 0, base=-1, latest=-1),
    _times("no timestamps, latest 0", 0, 0, 0, base=-1, latest=0),
    _times("some without", 0, -TIME_MS - 1, -TIME_MS - 1, latest=TIME_MS),
    _times("before 1970", 0, -1, -2, base=-5, latest=-5),
    _times("one far ahead", 0, FAR_MS - TIME_MS, 0, latest=TIME_MS),
    _times("one that wraps", 0, 2**63 - 1, 0, latest=TIME_MS),
    _times("one at the beginning of numbers", 0, 5 - 2**63 - TIME_MS, 0, latest=TIME_MS),
)

COUNTS: Final = (
    Deviation("one counted too few", extra=-1),
    Deviation("one counted too many", extra=1),
    Deviation("last offset delta too high", header={"last_offset_delta": 50}),
    Deviation("last offset delta too low", header={"last_offset_delta": 1}),
    Deviation("a byte left over", tail=b"\0"),
    Deviation("half a record left over", tail=RawRecord(3).encoded()[:-2]),
)

_WRONG_LENGTHS: Final[Mapping[str, Mapping[str, Any]]] = {
    "record length too long": {"length_error": 1},
    "record length too short": {"length_error": -1},
    "record length beyond the batch": {"length_error": 10**6},
    "record length negative": {"length_error": -100},
    "bytes left over in a record": {"left_over": b"zz"},
    "key length too long": {"key_length": 2},
    "key length too short": {"key_length": 0},
    "key length beyond the batch": {"key_length": 10**6},
    "key length -1 with a key": {"key_length": -1},
    "key length -2": {"key": b"", "key_length": -2},
    "value length too long": {"value_length": 3},
    "value length -1 with a value": {"value_length": -1},
    "value length beyond the batch": {"value_length": 10**6},
    "one header counted too many": {"header_count": 2},
    "one header counted too few": {"header_count": 0},
    "header count negative": {"header_count": -1},
    "header count beyond the batch": {"header_count": 10**6},
    "header key null": {"header_key_length": -1},
}
LENGTHS: Final = tuple(
    Deviation(f"{what}, {where}", _at(place, wrong))
    for where, place in (("first", 0), ("last", 2))
    for what, wrong in _WRONG_LENGTHS.items()
)


def _single(name: str, *records: RawRecord, tail: bytes = b"") -> Deviation:
    header = {"max_timestamp": TIME_MS}
    return Deviation(f"a single record, {name}", records, 1 - len(records), tail, header)


SINGLES: Final = (
    _single("valid", RawRecord()),
    _single("latest too early", RawRecord(0, 1000)),
    _single("latest too late", RawRecord(0, -1000)),
    _single("far ahead", RawRecord(0, FAR_MS - TIME_MS)),
    _single("missing"),
    _single("cut short", tail=RawRecord().encoded()[:-2]),
    _single("twice", RawRecord(), tail=RawRecord().encoded()),
)


def _framed(name: str, codec: Codec, pack: Callable[[bytes], bytes]) -> Deviation:
    return Deviation(f"{codec.name} {name}", codecs=[codec], pack=lambda _, plain: pack(plain))


def _in_two(codec: Codec) -> Callable[[bytes], bytes]:
    """Return a compressor that makes two frames or members of its input, cut inside a record."""
    return lambda plain: compress(codec, plain[:-20]) + compress(codec, plain[-20:])


def _with_tail(codec: Codec, tail: bytes) -> Callable[[bytes], bytes]:
    return lambda plain: compress(codec, plain) + tail


def _cut(codec: Codec, size: int) -> Callable[[bytes], bytes]:
    return lambda plain: compress(codec, plain)[:-size]


def _with_wrong_crc(plain: bytes) -> bytes:
    packed = gzip.compress(plain, mtime=0)
    return packed[:-8] + bytes(4) + packed[-4:]


_SKIPPABLE: Final = bytes.fromhex("502a4d18 04000000") + b"skip"
_PACKED: Final = tuple(codec for codec in Codec if codec is not Codec.NONE)
FRAMINGS: Final = (
    *(_framed("in two frames", codec, _in_two(codec)) for codec in (Codec.GZIP, Codec.LZ4, Codec.ZSTD)),
    *(_framed("with garbage behind", codec, _with_tail(codec, b"garbage!")) for codec in _PACKED),
    *(_framed("cut short", codec, _cut(codec, 5)) for codec in _PACKED),
    _framed("with zeros behind", Codec.GZIP, _with_tail(Codec.GZIP, bytes(8))),
    _framed("with a wrong checksum", Codec.GZIP, _with_wrong_crc),
    _framed("with a frame to skip behind", Codec.ZSTD, _with_tail(Codec.ZSTD, _SKIPPABLE)),
    _framed("in a raw block", Codec.SNAPPY, lambda plain: bytes(snappy.compress_raw(plain))),
    _framed("in Google's framing", Codec.SNAPPY, lambda plain: bytes(snappy.compress(plain))),
)

ATTRIBUTES: Final = tuple(
    Deviation(f"record attributes {attributes:#04x}", _at(2, {"attributes": attributes}))
    for attributes in (0x01, 0x08, 0xFF)
)
"""librdkafka takes the timestamp type of a record from bit 3; Kafka ignores them."""

ALL: Final = (
    VALID,
    *OFFSET_DELTAS,
    *BEYOND_32_BITS,
    *TIMESTAMPS,
    *COUNTS,
    *LENGTHS,
    *ATTRIBUTES,
    *SINGLES,
    *FRAMINGS,
)
