"""Tasks of Spark's workers, run in this process: prefetch, put, result."""

import io
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from typing_extensions import Buffer

from dray.cluster.identity_plan import MARK_PATH
from dray.compaction.rewrite import RewriteTask, Rewritten, Unconvertible, rewrite, rewrite_reads
from dray.compaction.skipped import UnconvertibleEntry
from dray.index import ParquetEntry, plan_swap
from dray.objects.port import AlreadyExists, ByteRange, NotFound, StoreUnusable
from dray.scan.access import OpenCluster, StorageAccess
from dray.scan.blocking import BlockingCluster, BlockingStore
from dray.scan.ranges import Read
from dray.scan.read_ahead import AheadLimits, ReadAhead
from dray.spark.worker import TaskResult, TaskWork, decode_result, encode_task, run_task
from tests.log.builders import ONE, TWO
from tests.spark.logs import StoredLog
from tests.spark.stores import open_directory


class Counting:
    """An object store that records reads, and returns their path and start as data."""

    def __init__(self) -> None:
        self.begun: list[Read] = []

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        self.begun += [Read(path, at) for at in ranges]
        if path == "absent":
            raise NotFound(path)
        return [f"{path}@{at.start}".encode() for at in ranges]

    async def close(self) -> None: ...


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def store(counting: Counting) -> Iterator[BlockingStore]:
    async def access() -> Counting:
        return counting

    with BlockingStore(access) as opened:  # type: ignore[arg-type]
        yield opened


PLANNED = [Read("a", ByteRange(number * 10, 10)) for number in range(6)]


def test_prefetch_is_bounded_by_bytes(store: BlockingStore, counting: Counting) -> None:
    ahead = ReadAhead(store, PLANNED, AheadLimits(bytes_max=25, requests_max=9))
    assert ahead.read("a", [ByteRange(0, 10)]) == [b"a@0"]
    assert ahead.read("a", [ByteRange(10, 10)]) == [b"a@10"]
    store.begin(counting.close()).result()  # runs after everything begun before it
    assert counting.begun == PLANNED[:4]


def test_small_ranges_are_requested_in_groups(store: BlockingStore, counting: Counting) -> None:
    ahead = ReadAhead(store, PLANNED, AheadLimits(bytes_max=1 << 20, requests_max=8))
    begun = []
    for read in PLANNED[:4]:
        ahead.read(*_arguments(read))
        store.begin(counting.close()).result()
        begun.append(len(counting.begun))
    assert begun == [6, 6, 6, 6]


def test_failed_prefetch_is_raised_when_its_range_is_read(store: BlockingStore) -> None:
    planned = [*PLANNED[:2], Read("absent", ByteRange(0, 1)), PLANNED[2]]
    ahead = ReadAhead(store, planned, AheadLimits())
    assert [ahead.read(*_arguments(read)) for read in planned[:2]] == [[b"a@0"], [b"a@10"]]
    with pytest.raises(NotFound, match="absent"):
        ahead.read(*_arguments(planned[2]))
    assert ahead.read(*_arguments(planned[3])) == [b"a@20"]


def test_prefetch_is_bounded_by_requests(store: BlockingStore, counting: Counting) -> None:
    ahead = ReadAhead(store, PLANNED, AheadLimits(bytes_max=1 << 20, requests_max=3))
    ahead.read("a", [ByteRange(0, 10)])
    store.begin(counting.close()).result()
    assert counting.begun == PLANNED[:4]


def test_range_larger_than_the_limit_is_read_alone(store: BlockingStore, counting: Counting) -> None:
    ahead = ReadAhead(store, PLANNED, AheadLimits(bytes_max=1, requests_max=3))
    assert [ahead.read(*_arguments(read)) for read in PLANNED] == [
        [f"a@{n}".encode()] for n in range(0, 60, 10)
    ]
    assert counting.begun == PLANNED


def test_unplanned_range_is_read_on_demand(store: BlockingStore, counting: Counting) -> None:
    ahead = ReadAhead(store, PLANNED, AheadLimits(bytes_max=10))
    assert ahead.read("b", [ByteRange(5, 1), ByteRange(7, 1)]) == [b"b@5", b"b@7"]
    assert ahead.read("a", [ByteRange(0, 10)]) == [b"a@0"]


def _arguments(read: Read) -> tuple[str, list[ByteRange]]:
    return read.path, [read.at]


def reads_made(log: StoredLog, task: RewriteTask) -> list[Read]:
    """Run a rewrite and return its reads."""
    made: list[Read] = []

    def read(path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        made.extend(Read(path, at) for at in ranges)
        whole = memoryview((log.root / path).read_bytes())
        return [whole[at.start : at.end] for at in ranges]

    rewrite(task, read, io.BytesIO())
    return made


def test_rewrite_reads_the_planned_ranges_of_both_kinds_of_entry(log: StoredLog) -> None:
    task = log.task(ONE, 1)
    assert reads_made(log, task) == list(rewrite_reads(task))
    place = _rewritten(task, partial(open_directory, log.root)).file
    (file,) = plan_swap(ONE, [place], task.entries).added
    merged = msgspec.structs.replace(task, entries=(file, file))
    assert list(rewrite_reads(merged)) == 2 * [Read(place.path, at) for at in _ranges(file)]
    single = msgspec.structs.replace(task, entries=(file,))
    assert reads_made(log, single) == list(rewrite_reads(single))


def _rewritten(task: RewriteTask, access: StorageAccess) -> Rewritten:
    answer = run_task(task, access)
    assert isinstance(answer, Rewritten)
    return answer


def _ranges(file: ParquetEntry) -> list[ByteRange]:
    tail = ByteRange(file.size_bytes - file.footer_bytes, file.footer_bytes)
    return [tail, *(ByteRange(group.position, group.length) for group in file.groups)]


def test_taken_path_is_replaced_by_another(log: StoredLog) -> None:
    access = partial(open_directory, log.root)
    first = _rewritten(log.task(ONE, 1), access)
    again = _rewritten(log.task(ONE, 1), access)
    assert first.file.path == log.task(ONE, 1).path
    assert again.file.path != first.file.path
    assert again.file.file_id.hex() in again.file.path
    assert again.file.path.rpartition("/")[0] == first.file.path.rpartition("/")[0]
    for written in (first, again):
        assert log.read(written.file.path) == log.records[ONE]


def test_missing_object_is_reported_with_its_offsets(log: StoredLog) -> None:
    (log.root / log.entries[ONE][-1].path).unlink()
    answer = run_task(log.task(ONE, 1), partial(open_directory, log.root))
    assert isinstance(answer, Unconvertible)
    last = log.entries[ONE][-1]
    assert answer.entries == (
        UnconvertibleEntry(last.start_offset, last.end_offset, last.path, "there is no such object"),
    )
    assert not (log.root / log.task(ONE, 1).path).exists()


def test_unreadable_object_is_reported_while_the_mark_can_be_read(log: StoredLog) -> None:
    last = log.entries[ONE][-1]
    (log.root / last.path).unlink()
    (log.root / last.path).symlink_to(log.root / last.path)
    with pytest.raises(StoreUnusable):
        run_task(log.task(ONE, 1), partial(open_directory, log.root))
    (log.root / MARK_PATH).write_text("{}")
    answer = run_task(log.task(ONE, 1), partial(open_directory, log.root))
    assert isinstance(answer, Unconvertible)
    (failed,) = answer.entries
    assert (failed.end_offset, failed.path) == (last.end_offset, last.path)
    assert failed.reason.startswith("the object cannot be read: ")


def test_each_task_returns_its_own_result(log: StoredLog) -> None:
    work = TaskWork((encode_task(log.task(TWO, 1)), b"no task"), partial(open_directory, log.root))
    numbers = pa.record_batch([pa.array([1, 0])], names=["id"])
    bad, good = (
        msgspec.json.decode(row["result"], type=TaskResult)
        for rows in work([numbers])
        for row in rows.to_pylist()
    )
    assert (bad.task, bad.output) == (1, None)
    assert bad.failed is not None
    assert bad.failed.startswith("ValidationError: ")
    assert (good.task, good.failed) == (0, None)
    assert good.output is not None
    answer = decode_result(good.output)
    assert isinstance(answer, Rewritten)
    assert log.read(answer.file.path) == log.records[TWO]


async def _refuse() -> Any:
    raise AlreadyExists("no store here")


def test_cluster_that_cannot_be_opened_leaves_no_thread() -> None:
    @asynccontextmanager
    async def refuse() -> AsyncIterator[OpenCluster]:
        yield await _refuse()

    with pytest.raises(AlreadyExists):
        BlockingCluster(refuse)
    assert not any(thread.name == "dray-cluster" for thread in threading.enumerate())


def test_store_that_cannot_be_opened_leaves_no_thread() -> None:
    blocking = BlockingStore(_refuse)
    with pytest.raises(AlreadyExists), blocking:
        pass
    assert not any(thread.name == "dray-store" for thread in threading.enumerate())
