"""What a task of a Spark job does: read, write its file into the store, and answer with one row.

Nothing that goes wrong with one stream may cost the others their work, so it becomes an answer too. Only what
ends the process is left to Spark, which tries the task again. The first attempt may then have put its file
before it died; the second finds the path taken, and takes another name. What nobody answers for, the sweep
finds.
"""

from collections.abc import Iterable, Iterator

import msgspec
import pyarrow as pa

from dray.ids import FileId
from dray.index import path_beside
from dray.log import LogDamaged
from dray.objects.port import AlreadyExists
from dray.pipeline.blocking import BlockingStore, StorageAccess
from dray.pipeline.read_ahead import AheadLimits, ReadAhead
from dray.pipeline.work import Answer, Task, perform, reads_of, renamed
from dray.runtime import Entropy, SystemEntropy

ANSWER_DDL = "answer string"
_ANSWER = pa.schema([("answer", pa.string())])


class Told(msgspec.Struct, frozen=True, array_like=True):
    """A row that a task answers with, as JSON: what was written, or why it was not."""

    task: int
    answer: bytes | None
    failed: str | None
    damaged: str = ""
    """The path of the object that could not be read, if that is why."""


_encoder = msgspec.msgpack.Encoder()
_json = msgspec.json.Encoder()
_tasks: msgspec.msgpack.Decoder[Task] = msgspec.msgpack.Decoder(Task)
_answers: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)


def encode_task(task: Task) -> bytes:
    return _encoder.encode(task)


def decode_answer(answer: bytes) -> Answer:
    return _answers.decode(answer)


class TaskWork:
    """The function of the job: turns numbers of tasks into their answers. Travels by pickle."""

    def __init__(self, tasks: tuple[bytes, ...], access: StorageAccess) -> None:
        self._tasks = tasks
        self._access = access

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield self._answer(number)

    def _answer(self, number: int) -> pa.RecordBatch:
        try:
            answer = _encoder.encode(carry_out(_tasks.decode(self._tasks[number]), self._access))
            told = Told(number, answer, None)
        except LogDamaged as error:
            told = Told(number, None, str(error), error.path)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this stream's alone
            told = Told(number, None, f"{type(error).__name__}: {error}")
        return pa.record_batch([[_json.encode(told).decode()]], schema=_ANSWER)


def carry_out(task: Task, access: StorageAccess) -> Answer:
    """Do a task, and put what it writes into the store."""
    output = pa.BufferOutputStream()
    with BlockingStore(access) as store:
        ahead = ReadAhead(store, reads_of(task), AheadLimits())
        try:
            answer = perform(task, ahead.read, output)
        finally:
            ahead.stop()
        if not output.tell():
            return answer
        return _put(store, task, answer, output.getvalue(), SystemEntropy())


def _put(store: BlockingStore, task: Task, answer: Answer, whole: pa.Buffer, entropy: Entropy) -> Answer:
    try:
        store.begin(store.store.put_new(task.path, [whole])).result()
    except AlreadyExists:
        file_id = FileId(entropy.token(16))
        path = path_beside(task.path, task.stream, file_id)
        store.begin(store.store.put_new(path, [whole])).result()
        return renamed(answer, file_id, path)
    return answer
