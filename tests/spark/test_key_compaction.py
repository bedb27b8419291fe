"""Key compaction with Spark on real stores: stream, table, and the tasks of its workers."""

import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from typing_extensions import Buffer

from dray.compaction.key_compaction.rounds import KeyCompactionRound
from dray.compaction.key_compaction.tasks import Filtered, FilterTask, KeyMap, KeyMapTask
from dray.compaction.rewrite import Rewritten
from dray.compaction.tasks import Task, execute, reads_of
from dray.ids import FileId, StreamId
from dray.index import ParquetEntry, keys_path, parse_file_path, plan_swap
from dray.log import Log
from dray.objects.port import ByteRange
from dray.records import BatchRules, Record, encode_batch, validate
from dray.scan.ranges import Read
from dray.spark.worker import run_task
from tests.log.builders import ONE
from tests.spark.logs import StoredLog
from tests.spark.stores import open_directory
from tests.spark.test_whole import CODECS, TOPIC, Whole, _check_by_duckdb, _read, whole

if TYPE_CHECKING:
    from dray.spark.engine import SparkEngine

COMPACT = msgspec.structs.replace(
    TOPIC,
    configs={
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.1",
        "max.compaction.lag.ms": "1",
    },
)
_NOW_MS = 1_700_000_000_000


async def _produce(log: Log, round_number: int) -> None:
    """Produce keys that repeat, keys that occur once, and tombstones."""
    for stream in COMPACT.streams:
        for number in range(10):
            sent = [
                Record(
                    offset=offset,
                    timestamp=_NOW_MS + number * 100 + offset,
                    key=f"often {offset % 40}".encode()
                    if offset % 3
                    else f"once {round_number}/{number}/{offset}".encode(),
                    value=None if offset % 11 == 5 else f"{round_number}/{number}/{offset}".encode() * 20,
                    headers=(("h", b"1"), ("h", None)) if offset % 7 == 0 else (),
                )
                for offset in range(200)
            ]
            batch = encode_batch(sent, codec=CODECS[number % len(CODECS)])
            await (await log.append(stream, validate(memoryview(batch), BatchRules(), _NOW_MS)))


def _key_compaction(cluster: Whole, engine: "SparkEngine") -> KeyCompactionRound:
    return KeyCompactionRound(cluster.round(engine)._deps, COMPACT)


async def _records(cluster: Whole) -> dict[StreamId, list[Record]]:
    """Return what a log with empty caches serves."""
    log = await cluster.log()
    found = {stream: await _read(log, stream) for stream in COMPACT.streams}
    await log.close()
    return found


def _last_of_each_key(records: Sequence[Record]) -> list[Record]:
    last = {record.key: record.offset for record in records}
    return [record for record in records if last[record.key] == record.offset]


@pytest.mark.slow
@pytest.mark.real("java")
async def test_key_compaction_applies_to_stream_and_table(engine: "SparkEngine", tmp_path: Path) -> None:
    async with whole(tmp_path) as cluster:
        log = await cluster.log()
        for stream in COMPACT.streams:
            await log.create_stream(stream)
        expected: dict[StreamId, list[Record]] = {}
        for round_number in range(3):
            await _produce(log, round_number)
            await cluster.round(engine).run()
            before = await _records(cluster)
            report = await _key_compaction(cluster, engine).run()
            assert report.failures == []
            expected = {stream: _last_of_each_key(before[stream]) for stream in COMPACT.streams}
            dropped = sum(len(before[stream]) - len(expected[stream]) for stream in COMPACT.streams)
            assert report.dropped == dropped > 0
            assert await _records(cluster) == expected
        assert (await _key_compaction(cluster, engine).run()).files == 0
        await log.close()
        assert not [info.path async for info in cluster.objects.list("") if info.path.endswith(".keys")]
    _check_by_duckdb(tmp_path, expected)


def _file(log: StoredLog) -> ParquetEntry:
    task = log.task(ONE, 1)
    answer = run_task(task, partial(open_directory, log.root))
    assert isinstance(answer, Rewritten)
    (file,) = plan_swap(ONE, [answer.file], task.entries).added
    return file


def _tasks(log: StoredLog) -> tuple[KeyMapTask, FilterTask]:
    """Return both tasks for a file of a whole stream; the filter still lacks the result of the key map."""
    file = _file(log)
    path = log.task(ONE, 2).path
    keys = KeyMapTask(ONE, (file,), 0, file.end_offset, bytes(16), FileId(bytes(16)), keys_path(path))
    return keys, FilterTask(ONE, 7, file, 0, 0, file.end_offset, (), None, FileId(bytes(16)), path)


def _mapped(log: StoredLog, task: KeyMapTask) -> KeyMap:
    answer = run_task(task, partial(open_directory, log.root))
    assert isinstance(answer, KeyMap)
    return answer


def _filtered(log: StoredLog, task: FilterTask) -> Filtered:
    answer = run_task(task, partial(open_directory, log.root))
    assert isinstance(answer, Filtered)
    return answer


def _reads_made(log: StoredLog, task: Task) -> list[Read]:
    made: list[Read] = []

    def read(path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        made.extend(Read(path, at) for at in ranges)
        data = memoryview((log.root / path).read_bytes())
        return [data[at.start : at.end] for at in ranges]

    execute(task, read, io.BytesIO())
    return made


def test_worker_puts_keys_and_file_and_reads_the_planned_ranges(log: StoredLog) -> None:
    first, second = _tasks(log)
    assert _reads_made(log, first) == list(reads_of(first))
    keys = _mapped(log, first)
    assert (log.root / keys.path).stat().st_size == keys.size_bytes
    second = msgspec.structs.replace(second, keys=keys)
    assert _reads_made(log, second) == list(reads_of(second))
    answer = _filtered(log, second)
    assert answer.rewritten is not None
    keyed = [record for record in log.records[ONE] if record.key is not None]
    assert log.read(answer.rewritten.file.path) == _last_of_each_key(keyed)
    assert answer.tombstones == sum(record.value is None for record in _last_of_each_key(keyed))


def test_worker_uses_another_path_if_its_own_is_taken(log: StoredLog) -> None:
    first, second = _tasks(log)
    keys, again = _mapped(log, first), _mapped(log, first)
    assert keys.path != again.path
    assert parse_file_path(again.path) is not None
    assert (log.root / keys.path).read_bytes() == (log.root / again.path).read_bytes()
    second = msgspec.structs.replace(second, keys=again)
    one, two = _filtered(log, second), _filtered(log, second)
    assert one.rewritten is not None
    assert two.rewritten is not None
    assert one.rewritten.file.path != two.rewritten.file.path
    assert log.read(two.rewritten.file.path) == log.read(one.rewritten.file.path)


def test_unchanged_file_is_not_rewritten(log: StoredLog) -> None:
    _, second = _tasks(log)
    answer = _filtered(log, second)  # no keys: only tombstones could be dropped
    assert answer.rewritten is None
    assert not (log.root / second.path).exists()


def test_only_keys_of_the_dirty_range_count(log: StoredLog) -> None:
    """Each batch of the log has 25 records and its own key; all are in one row group."""
    first, _ = _tasks(log)
    assert len(first.entries[0].groups) == 1
    assert _mapped(log, first).keys == 40
    assert _mapped(log, msgspec.structs.replace(first, start_offset=30, end_offset=70)).keys == 2
