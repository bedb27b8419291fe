"""What a task does, in this process: reading ahead, putting, and answering."""

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

from dray.index import ParquetEntry, plan_swap
from dray.log import LogDamaged
from dray.objects.port import AlreadyExists, ByteRange, NotFound
from dray.pipeline.access import OpenCluster
from dray.pipeline.blocking import BlockingCluster, BlockingStore, StorageAccess
from dray.pipeline.read_ahead import AheadLimits, ReadAhead
from dray.pipeline.reads import Read
from dray.pipeline.rewrite import Rewritten, SpanTask, reads_of, rewrite
from dray.pipeline.spark.worker import TaskWork, Told, carry_out, decode_answer, encode_task
from tests.log.builders import ONE, TWO
from tests.pipeline.spark.logs import StoredLog
from tests.pipeline.spark.stores import open_directory


class Counting:
    """A store's reads, which are answered with their own path and start."""

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


FORETOLD = [Read("a", ByteRange(number * 10, 10)) for number in range(6)]


def test_as_much_is_read_ahead_as_fits(store: BlockingStore, counting: Counting) -> None:
    ahead = ReadAhead(store, FORETOLD, AheadLimits(bytes_max=25, requests_max=9))
    assert ahead.read("a", [ByteRange(0, 10)]) == [b"a@0"]
    assert ahead.read("a", [ByteRange(10, 10)]) == [b"a@10"]
    store.begin(counting.close()).result()  # whatever was begun before has been called
    assert counting.begun == FORETOLD[:4]


def test_small_ranges_go_to_the_store_some_at_a_time(store: BlockingStore, counting: Counting) -> None:
    ahead = ReadAhead(store, FORETOLD, AheadLimits(bytes_max=1 << 20, requests_max=8))
    begun = []
    for read in FORETOLD[:4]:
        ahead.read(*_asked(read))
        store.begin(counting.close()).result()
        begun.append(len(counting.begun))
    assert begun == [6, 6, 6, 6]


def test_a_range_that_fails_is_told_when_it_is_asked_for(store: BlockingStore) -> None:
    foretold = [*FORETOLD[:2], Read("absent", ByteRange(0, 1)), FORETOLD[2]]
    ahead = ReadAhead(store, foretold, AheadLimits())
    assert [ahead.read(*_asked(read)) for read in foretold[:2]] == [[b"a@0"], [b"a@10"]]
    with pytest.raises(NotFound, match="absent"):
        ahead.read(*_asked(foretold[2]))
    assert ahead.read(*_asked(foretold[3])) == [b"a@20"]


def test_no_more_requests_are_made_than_allowed(store: BlockingStore, counting: Counting) -> None:
    ahead = ReadAhead(store, FORETOLD, AheadLimits(bytes_max=1 << 20, requests_max=3))
    ahead.read("a", [ByteRange(0, 10)])
    store.begin(counting.close()).result()
    assert counting.begun == FORETOLD[:4]


def test_a_range_larger_than_the_limit_is_read_alone(store: BlockingStore, counting: Counting) -> None:
    ahead = ReadAhead(store, FORETOLD, AheadLimits(bytes_max=1, requests_max=3))
    assert [ahead.read(*_asked(read)) for read in FORETOLD] == [[f"a@{n}".encode()] for n in range(0, 60, 10)]
    assert counting.begun == FORETOLD


def test_what_was_not_foretold_is_read_when_asked_for(store: BlockingStore, counting: Counting) -> None:
    ahead = ReadAhead(store, FORETOLD, AheadLimits(bytes_max=10))
    assert ahead.read("b", [ByteRange(5, 1), ByteRange(7, 1)]) == [b"b@5", b"b@7"]
    assert ahead.read("a", [ByteRange(0, 10)]) == [b"a@0"]


def _asked(read: Read) -> tuple[str, list[ByteRange]]:
    return read.path, [read.at]


def reads_made(log: StoredLog, task: SpanTask) -> list[Read]:
    """Rewrite a span and tell what was read."""
    made: list[Read] = []

    def read(path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        made.extend(Read(path, at) for at in ranges)
        whole = memoryview((log.root / path).read_bytes())
        return [whole[at.start : at.end] for at in ranges]

    rewrite(task, read, io.BytesIO())
    return made


def test_what_a_rewrite_reads_is_foretold_for_both_kinds_of_entry(log: StoredLog) -> None:
    task = log.task(ONE, 1)
    assert reads_made(log, task) == list(reads_of(task))
    place = _rewritten(task, partial(open_directory, log.root)).place
    (file,) = plan_swap(ONE, [place], task.entries).added
    merged = msgspec.structs.replace(task, entries=(file, file))
    assert list(reads_of(merged)) == 2 * [Read(place.path, at) for at in _ranges(file)]
    single = msgspec.structs.replace(task, entries=(file,))
    assert reads_made(log, single) == list(reads_of(single))


def _rewritten(task: SpanTask, access: StorageAccess) -> Rewritten:
    answer = carry_out(task, access)
    assert isinstance(answer, Rewritten)
    return answer


def _ranges(file: ParquetEntry) -> list[ByteRange]:
    tail = ByteRange(file.size_bytes - file.footer_bytes, file.footer_bytes)
    return [tail, *(ByteRange(group.position, group.length) for group in file.groups)]


def test_a_path_that_is_taken_gives_way_to_a_fresh_one(log: StoredLog) -> None:
    access = partial(open_directory, log.root)
    first = _rewritten(log.task(ONE, 1), access)
    again = _rewritten(log.task(ONE, 1), access)
    assert first.place.path == log.task(ONE, 1).path
    assert again.place.path != first.place.path
    assert again.place.file_id.hex() in again.place.path
    assert again.place.path.rpartition("/")[0] == first.place.path.rpartition("/")[0]
    for written in (first, again):
        assert log.read(written.place.path) == log.records[ONE]


def test_an_object_that_is_gone_is_told_with_its_records(log: StoredLog) -> None:
    (log.root / log.entries[ONE][-1].path).unlink()
    with pytest.raises(LogDamaged, match=r"offsets \d+ to \d+.*there is no such object"):
        _rewritten(log.task(ONE, 1), partial(open_directory, log.root))


def test_each_task_answers_for_itself(log: StoredLog) -> None:
    work = TaskWork((encode_task(log.task(TWO, 1)), b"no task"), partial(open_directory, log.root))
    numbers = pa.record_batch([pa.array([1, 0])], names=["id"])
    bad, good = (
        msgspec.json.decode(row["answer"], type=Told) for rows in work([numbers]) for row in rows.to_pylist()
    )
    assert (bad.task, bad.answer) == (1, None)
    assert bad.failed is not None
    assert bad.failed.startswith("ValidationError: ")
    assert (good.task, good.failed) == (0, None)
    assert good.answer is not None
    answer = decode_answer(good.answer)
    assert isinstance(answer, Rewritten)
    assert log.read(answer.place.path) == log.records[TWO]


async def _refuse() -> Any:
    raise AlreadyExists("no store here")


def test_a_cluster_that_does_not_open_leaves_no_thread() -> None:
    @asynccontextmanager
    async def refuse() -> AsyncIterator[OpenCluster]:
        yield await _refuse()

    with pytest.raises(AlreadyExists):
        BlockingCluster(refuse)
    assert not any(thread.name == "dray-cluster" for thread in threading.enumerate())


def test_a_store_that_does_not_open_leaves_no_thread() -> None:
    blocking = BlockingStore(_refuse)
    with pytest.raises(AlreadyExists), blocking:
        pass
    assert not any(thread.name == "dray-store" for thread in threading.enumerate())
