"""Offset lookup by time, compared with a model that scans all records."""

from dataclasses import dataclass
from itertools import accumulate

from hypothesis import given, settings
from hypothesis import strategies as st

from dray.log import TimedOffset
from dray.records import BatchRules, Record, TimestampType, ValidBatch, encode_batch, validate
from tests.log.builders import ONE, Rig, simulate, simulated
from tests.records.builders import with_payload

_KINDS = ("create", "create", "log append", "unreadable")


@dataclass(frozen=True)
class _Batch:
    kind: str
    times: tuple[int, ...]

    def encoded(self) -> ValidBatch:
        records = [Record(offset, at, None, b"v", ()) for offset, at in enumerate(self.times)]
        encoded = memoryview(encode_batch(records))
        if self.kind == "log append":
            return validate(encoded, BatchRules(timestamp_type=TimestampType.LOG_APPEND), max(self.times))
        if self.kind == "unreadable":
            encoded = with_payload(bytes(encoded), b"\xff" * 20)
        return validate(encoded, BatchRules(), 100)

    def records(self) -> list[int]:
        """Return the timestamp of each record, as far as a broker can know it."""
        return list(self.times) if self.kind == "create" else [max(self.times)] * len(self.times)


_batches = st.builds(
    _Batch, st.sampled_from(_KINDS), st.lists(st.integers(-1, 30), min_size=1, max_size=3).map(tuple)
)


def _model(batches: list[_Batch], log_start: int) -> list[TimedOffset]:
    times = [at for batch in batches for at in batch.records()]
    return [TimedOffset(offset, at) for offset, at in enumerate(times) if offset >= log_start]


def _bases(batches: list[_Batch]) -> list[int]:
    return list(accumulate((len(batch.times) for batch in batches), initial=0))


def _first_at(left: list[TimedOffset], time_ms: int) -> TimedOffset | None:
    return next((record for record in left if record.timestamp_ms >= time_ms), None)


def _newest(left: list[TimedOffset]) -> TimedOffset | None:
    greatest = max((record.timestamp_ms for record in left), default=-1)
    return None if greatest == -1 else _first_at(left, greatest)


@settings(max_examples=80)
@given(
    st.lists(_batches, min_size=1, max_size=10),
    st.integers(1, 3),
    st.lists(st.integers(0, 31), min_size=1, max_size=4),
    st.floats(0, 1),
    st.booleans(),
)
def test_lookup_equals_a_scan_of_all_records(
    batches: list[_Batch], per_object: int, times: list[int], trimmed: float, fresh: bool
) -> None:
    async def body(rig: Rig) -> None:
        opened = await rig.open(tail_cache_bytes_max=0)
        for first in range(0, len(batches), per_object):
            sent = [
                await opened.log.append(ONE, one.encoded()) for one in batches[first : first + per_object]
            ]
            for promise in sent:
                await promise
        end = (await opened.log.head(ONE)).high_watermark
        log_start = await opened.log.trim(ONE, round(trimmed * end))
        left = _model(batches, log_start)
        reader = await rig.open("b") if fresh else opened
        for time_ms in times:
            assert await reader.log.find_time(ONE, time_ms) == _first_at(left, time_ms)
        if log_start in _bases(batches):
            assert await reader.log.find_newest(ONE) == _newest(left)

    simulate(body)


@simulated
async def test_empty_stream_has_no_offset_for_a_time(rig: Rig) -> None:
    opened = await rig.open()
    assert await opened.log.find_time(ONE, 0) is None
    assert await opened.log.find_newest(ONE) is None


@simulated
async def test_lookup_in_a_long_log_is_a_binary_search(rig: Rig) -> None:
    writer = await rig.open()
    began = rig.clock.now_ms()
    for _ in range(200):
        await writer.append("x")
        await rig.settle(0.01)
    reader = await rig.open("b", index_cache_bytes_max=1, readahead_chunks=0)
    assert await reader.log.find_time(ONE, began + 1500) == (150, began + 1500)
    assert reader.link.calls["scan"] <= 10
    assert len(reader.objects.reads) == 1
