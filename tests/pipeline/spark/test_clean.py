"""Cleaning by key with Spark on real stores: stream and table, and what the workers do for it."""

import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from typing_extensions import Buffer

from dray.ids import FileId, StreamId
from dray.index import ParquetEntry, keys_path, parse_file_path, plan_swap
from dray.log import Log
from dray.objects.port import ByteRange
from dray.pipeline.clean.rounds import TopicCleaning
from dray.pipeline.clean.tasks import CleanTask, Filtered, Mapped, MapTask
from dray.pipeline.reads import Read
from dray.pipeline.rewrite import Rewritten
from dray.pipeline.spark.worker import carry_out
from dray.pipeline.work import Task, perform, reads_of
from dray.records import BatchRules, Record, encode_batch, validate
from tests.log.builders import ONE
from tests.pipeline.spark.logs import StoredLog
from tests.pipeline.spark.stores import open_directory
from tests.pipeline.spark.test_whole import CODECS, TOPIC, Whole, _check_by_duckdb, _read, whole

if TYPE_CHECKING:
    from dray.pipeline.spark.job import SparkEngine

COMPACT = msgspec.structs.replace(
    TOPIC, configs={"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}
)
_NOW_MS = 1_700_000_000_000


async def _produce(log: Log, go: int) -> None:
    """Some keys come again and again, some once; some values are missing."""
    for stream in COMPACT.streams:
        for number in range(10):
            sent = [
                Record(
                    offset=offset,
                    timestamp=_NOW_MS + number * 100 + offset,
                    key=f"often {offset % 40}".encode()
                    if offset % 3
                    else f"once {go}/{number}/{offset}".encode(),
                    value=None if offset % 11 == 5 else f"{go}/{number}/{offset}".encode() * 20,
                    headers=(("h", b"1"), ("h", None)) if offset % 7 == 0 else (),
                )
                for offset in range(200)
            ]
            batch = encode_batch(sent, codec=CODECS[number % len(CODECS)])
            await (await log.append(stream, validate(memoryview(batch), BatchRules(), _NOW_MS)))


def _cleaning(cluster: Whole, engine: "SparkEngine") -> TopicCleaning:
    return TopicCleaning(cluster.round(engine)._parts, COMPACT)


async def _records(cluster: Whole) -> dict[StreamId, list[Record]]:
    """What a log serves that has nothing in its caches."""
    log = await cluster.log()
    found = {stream: await _read(log, stream) for stream in COMPACT.streams}
    await log.close()
    return found


def _last_of_each_key(records: Sequence[Record]) -> list[Record]:
    last = {record.key: record.offset for record in records}
    return [record for record in records if last[record.key] == record.offset]


@pytest.mark.slow
@pytest.mark.real("java")
async def test_a_topic_is_cleaned_as_stream_and_table(engine: "SparkEngine", tmp_path: Path) -> None:
    async with whole(tmp_path) as cluster:
        log = await cluster.log()
        for stream in COMPACT.streams:
            await log.create_stream(stream)
        expected: dict[StreamId, list[Record]] = {}
        for go in range(3):
            await _produce(log, go)
            await cluster.round(engine).run()
            before = await _records(cluster)
            report = await _cleaning(cluster, engine).run()
            assert report.failures == []
            expected = {stream: _last_of_each_key(before[stream]) for stream in COMPACT.streams}
            dropped = sum(len(before[stream]) - len(expected[stream]) for stream in COMPACT.streams)
            assert report.dropped == dropped > 0
            assert await _records(cluster) == expected
        assert (await _cleaning(cluster, engine).run()).files == 0
        await log.close()
        assert not [info.path async for info in cluster.objects.list("") if info.path.endswith(".keys")]
    _check_by_duckdb(tmp_path, expected)


def _file(log: StoredLog) -> ParquetEntry:
    task = log.task(ONE, 1)
    answer = carry_out(task, partial(open_directory, log.root))
    assert isinstance(answer, Rewritten)
    (file,) = plan_swap(ONE, [answer.place], task.entries).added
    return file


def _tasks(log: StoredLog) -> tuple[MapTask, CleanTask]:
    """The tasks for a file of everything in a stream; the second one lacks what the first one answers."""
    file = _file(log)
    path = log.task(ONE, 2).path
    keys = MapTask(ONE, (file,), 0, file.end_offset, bytes(16), FileId(bytes(16)), keys_path(path))
    return keys, CleanTask(ONE, 7, file, 0, 0, file.end_offset, (), None, FileId(bytes(16)), path)


def _mapped(log: StoredLog, task: MapTask) -> Mapped:
    answer = carry_out(task, partial(open_directory, log.root))
    assert isinstance(answer, Mapped)
    return answer


def _filtered(log: StoredLog, task: CleanTask) -> Filtered:
    answer = carry_out(task, partial(open_directory, log.root))
    assert isinstance(answer, Filtered)
    return answer


def _made(log: StoredLog, task: Task) -> list[Read]:
    made: list[Read] = []

    def read(path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        made.extend(Read(path, at) for at in ranges)
        data = memoryview((log.root / path).read_bytes())
        return [data[at.start : at.end] for at in ranges]

    perform(task, read, io.BytesIO())
    return made


def test_a_worker_puts_keys_and_file_and_what_it_reads_is_foretold(log: StoredLog) -> None:
    first, second = _tasks(log)
    assert _made(log, first) == list(reads_of(first))
    keys = _mapped(log, first)
    assert (log.root / keys.path).stat().st_size == keys.size_bytes
    second = msgspec.structs.replace(second, keys=keys)
    assert _made(log, second) == list(reads_of(second))
    answer = _filtered(log, second)
    assert answer.rewritten is not None
    keyed = [record for record in log.records[ONE] if record.key is not None]
    assert log.read(answer.rewritten.place.path) == _last_of_each_key(keyed)
    assert answer.tombstones == sum(record.value is None for record in _last_of_each_key(keyed))


def test_a_worker_that_finds_its_path_taken_takes_another(log: StoredLog) -> None:
    first, second = _tasks(log)
    keys, again = _mapped(log, first), _mapped(log, first)
    assert keys.path != again.path
    assert parse_file_path(again.path) is not None
    assert (log.root / keys.path).read_bytes() == (log.root / again.path).read_bytes()
    second = msgspec.structs.replace(second, keys=again)
    one, two = _filtered(log, second), _filtered(log, second)
    assert one.rewritten is not None
    assert two.rewritten is not None
    assert one.rewritten.place.path != two.rewritten.place.path
    assert log.read(two.rewritten.place.path) == log.read(one.rewritten.place.path)


def test_a_file_of_which_everything_stays_is_not_put(log: StoredLog) -> None:
    _, second = _tasks(log)
    answer = _filtered(log, second)  # no keys: only tombstones could go
    assert answer.rewritten is None
    assert not (log.root / second.path).exists()


def test_only_keys_of_the_dirty_stretch_count(log: StoredLog) -> None:
    """Each batch of the log has 25 records and a key of its own; all are in one row group."""
    first, _ = _tasks(log)
    assert len(first.entries[0].groups) == 1
    assert _mapped(log, first).keys == 40
    assert _mapped(log, msgspec.structs.replace(first, start_offset=30, end_offset=70)).keys == 2
