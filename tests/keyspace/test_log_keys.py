"""Keys of the log: their sort order, and the scans that rely on it."""

from hypothesis import given
from hypothesis import strategies as st

from dray.ids import FileId, MetaDomain, StreamId
from dray.keyspace import (
    entries_after,
    entries_of_streams,
    entries_until,
    entry_key,
    file_key,
    file_range,
    head_key,
    heads_range,
    is_producers_key,
    job_key,
    producers_key,
    staging_key,
    staging_range,
    stream_of_head_key,
    stream_of_job_key,
    stream_of_key,
    wal_gc_key,
    wal_gc_range,
    wal_object_key,
    wal_object_range,
    wal_of_key,
)
from tests.index.builders import wal

streams = st.integers(0, 2**64 - 1).map(StreamId)
offsets = st.integers(0, 2**63 - 1)


def _within(key: str, bounds: tuple[str, str]) -> bool:
    start, end = bounds
    assert key.count("/") == start.count("/") == end.count("/")
    return start <= key < end


@given(streams, offsets, offsets, offsets)
def test_entry_is_after_an_offset_exactly_if_its_end_is_greater(
    stream: StreamId, end: int, size: int, offset: int
) -> None:
    key = entry_key(stream, end, size)
    assert _within(key, entries_after(stream, offset)) == (end > offset)
    assert _within(key, entries_until(stream, offset)) == (end <= offset)


@given(streams, st.tuples(offsets, offsets), st.tuples(offsets, offsets))
def test_entries_sort_by_end_then_size(
    stream: StreamId, one: tuple[int, int], other: tuple[int, int]
) -> None:
    assert (entry_key(stream, *one) < entry_key(stream, *other)) == (one < other)


@given(streams, streams, offsets)
def test_entries_of_other_streams_are_never_found(stream: StreamId, other: StreamId, offset: int) -> None:
    key = entry_key(other, offset + 1, 1) if offset < 2**63 - 1 else entry_key(other, offset, 1)
    if stream != other:
        assert not _within(key, entries_after(stream, 0))


@given(streams, offsets, streams, streams)
def test_entries_of_a_range_of_streams_are_found(
    stream: StreamId, end: int, after: StreamId, last: StreamId
) -> None:
    key = entry_key(stream, end, 1)
    assert _within(key, entries_of_streams(None, None))
    assert _within(key, entries_of_streams(after, None)) == (stream > after)
    assert _within(key, entries_of_streams(None, last)) == (stream <= last)
    assert _within(key, entries_of_streams(after, last)) == (after < stream <= last)
    assert stream_of_key(key) == stream


@given(streams, streams, streams)
def test_heads_of_a_range_of_streams_are_found(stream: StreamId, after: StreamId, last: StreamId) -> None:
    assert _within(head_key(stream), heads_range(None, last)) == (stream <= last)
    assert _within(head_key(stream), heads_range(after, last)) == (after < stream <= last)
    assert _within(producers_key(last), heads_range(None, last))


def test_keys_name_their_stream() -> None:
    file = FileId(bytes(range(16)))
    assert _within(file_key(MetaDomain(1), file), file_range(MetaDomain(1)))
    assert stream_of_job_key(job_key(StreamId(7))) == StreamId(7)
    assert stream_of_key(job_key(StreamId(7))) is None
    assert is_producers_key(producers_key(StreamId(7)))
    assert not is_producers_key(head_key(StreamId(7)))


@given(streams)
def test_head_key_names_its_stream(stream: StreamId) -> None:
    assert stream_of_head_key(head_key(stream)) == stream
    assert stream_of_head_key(producers_key(stream)) is None
    assert stream_of_head_key(entry_key(stream, 1, 1)) is None
    assert _within(head_key(stream), heads_range())


@given(streams, streams)
def test_heads_can_be_walked_in_pages(stream: StreamId, after: StreamId) -> None:
    assert _within(head_key(stream), heads_range(after)) == (stream > after)


def test_markers_lie_in_their_domain_only() -> None:
    domain, other = MetaDomain(1), MetaDomain(10)
    for key, bounds in (
        (staging_key, staging_range),
        (wal_object_key, wal_object_range),
        (wal_gc_key, wal_gc_range),
    ):
        assert _within(key(domain, wal(255)), bounds(domain))
        assert not _within(key(domain, wal(255)), bounds(other))
        assert wal_of_key(key(domain, wal(255))) == wal(255)
