"""Compaction tasks in Spark's Python workers: read, write a file to the store, return one row.

A failure of one stream must not affect the others, so it is returned as a result too. Only a crash of the
worker is left to Spark, which retries the task. If the first attempt put its file before it died, the second
finds the path taken and uses another name. Garbage collection deletes files that no result names.
"""

from collections.abc import Iterable, Iterator

import msgspec
import pyarrow as pa

from dray.compaction.tasks import Task, TaskOutput, execute, has_output, reads_of, renamed
from dray.ids import FileId
from dray.index import path_beside
from dray.log import LogDamaged
from dray.objects.port import AlreadyExists
from dray.runtime import Entropy, SystemEntropy
from dray.scan.access import StorageAccess
from dray.scan.blocking import BlockingStore
from dray.scan.read_ahead import AheadLimits, ReadAhead

RESULT_DDL = "result string"
_RESULT = pa.schema([("result", pa.string())])


class TaskResult(msgspec.Struct, frozen=True, array_like=True):
    """The row that a task returns, as JSON: what was written, or why nothing was."""

    task: int
    output: bytes | None
    failed: str | None
    damaged: str = ""
    """The path of the unreadable object, if that is the cause."""


_encoder = msgspec.msgpack.Encoder()
_json = msgspec.json.Encoder()
_tasks: msgspec.msgpack.Decoder[Task] = msgspec.msgpack.Decoder(Task)
_outputs: msgspec.msgpack.Decoder[TaskOutput] = msgspec.msgpack.Decoder(TaskOutput)


def encode_task(task: Task) -> bytes:
    return _encoder.encode(task)


def decode_result(output: bytes) -> TaskOutput:
    return _outputs.decode(output)


class TaskWork:
    """The function of the job: maps task numbers to results. Pickled to the workers."""

    def __init__(self, tasks: tuple[bytes, ...], access: StorageAccess) -> None:
        self._tasks = tasks
        self._access = access

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield self._result(number)

    def _result(self, number: int) -> pa.RecordBatch:
        try:
            output = _encoder.encode(run_task(_tasks.decode(self._tasks[number]), self._access))
            result = TaskResult(number, output, None)
        except LogDamaged as error:
            result = TaskResult(number, None, str(error), error.path)
        except Exception as error:  # noqa: BLE001 - any failure affects this stream only
            result = TaskResult(number, None, f"{type(error).__name__}: {error}")
        return pa.record_batch([[_json.encode(result).decode()]], schema=_RESULT)


def run_task(task: Task, access: StorageAccess) -> TaskOutput:
    """Run a task, and put the file that it writes into the store."""
    content = pa.BufferOutputStream()
    with BlockingStore(access) as store:
        ahead = ReadAhead(store, reads_of(task), AheadLimits())
        try:
            output = execute(task, ahead.read, content)
        finally:
            ahead.stop()
        if not has_output(output):
            return output
        return _put(store, task, output, content.getvalue(), SystemEntropy())


def _put(
    store: BlockingStore, task: Task, output: TaskOutput, whole: pa.Buffer, entropy: Entropy
) -> TaskOutput:
    try:
        store.begin(store.store.put_new(task.path, [whole])).result()
    except AlreadyExists:
        file_id = FileId(entropy.token(16))
        path = path_beside(task.path, task.stream, file_id)
        store.begin(store.store.put_new(path, [whole])).result()
        return renamed(output, file_id, path)
    return output
