"""Hypothesis strategies for stored batches: all codecs, gaps, both timestamp types, keys of any bytes."""

from hypothesis import strategies as st

from dray.records import BatchHeader, Codec, compress
from dray.records.columns import MILLIS_MAX, StoredBatch
from dray.records.header import CONTROL_BIT, HEADER_BYTES, LENGTH_END, LOG_APPEND_BIT, MAGIC_V2, checksummed
from dray.records.raw import RawRecord, write_record

LONG = st.integers(-(MILLIS_MAX // 2), MILLIS_MAX // 2)
"""Limit of base and delta timestamps, so that a table can hold their sum."""
payloads = st.none() | st.binary(max_size=40)
header_keys = st.binary(max_size=6) | st.text(max_size=6).map(str.encode)
headers = st.lists(st.tuples(header_keys, payloads), max_size=4)
timestamps = st.integers(-1, 2**44) | LONG


@st.composite
def raw_records(draw: st.DrawFn, max_size: int = 6) -> list[RawRecord]:
    """At least one record; offsets ascend, with gaps."""
    deltas = sorted(draw(st.sets(st.integers(0, 200), min_size=1, max_size=max_size)))
    return [
        RawRecord(
            draw(st.integers(-5, 5000) | LONG),
            delta,
            _view(draw(payloads)),
            _view(draw(payloads)),
            tuple((memoryview(key), _view(value)) for key, value in draw(headers)),
        )
        for delta in deltas
    ]


@st.composite
def stored_batches(draw: st.DrawFn) -> StoredBatch:
    records = draw(raw_records())
    codec = draw(st.sampled_from(Codec))
    flags = draw(st.sampled_from([0, 0, LOG_APPEND_BIT, CONTROL_BIT]))
    payload = bytearray()
    for record in records:
        write_record(payload, record)
    span = records[-1].offset_delta + draw(st.integers(0, 3))
    buffer = batch_of(bytes(payload), len(records), span, codec | flags, (draw(timestamps), draw(timestamps)))
    return StoredBatch(draw(st.integers(0, 2**62)), buffer)


def batch_of(
    payload: bytes, count: int, last_offset_delta: int, attributes: int = 0, times: tuple[int, int] = (0, 0)
) -> bytes:
    """Return a batch with these records, valid or not, with correct length and checksum."""
    packed = compress(attributes & 7, payload)
    header = BatchHeader(
        base_offset=0,
        batch_length=len(packed) + HEADER_BYTES - LENGTH_END,
        leader_epoch=0,
        magic=MAGIC_V2,
        crc=0,
        attributes=attributes,
        last_offset_delta=last_offset_delta,
        base_timestamp=times[0],
        max_timestamp=times[1],
        producer_id=7,
        producer_epoch=1,
        base_sequence=5,
        record_count=count,
    )
    return checksummed(header, packed)[1] + packed


def _view(data: bytes | None) -> memoryview | None:
    return None if data is None else memoryview(data)
