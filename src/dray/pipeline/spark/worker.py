"""What a task of a Spark job does: read a span, write its file into the store, and answer with one row.

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
from dray.objects.port import AlreadyExists
from dray.pipeline.rewrite import Rewritten, SpanTask, reads_of, rewrite
from dray.pipeline.spark.blocking import BlockingStore, StorageAccess
from dray.pipeline.spark.read_ahead import AheadLimits, ReadAhead
from dray.runtime import Entropy, SystemEntropy

ANSWER_DDL = "task bigint, rewritten binary, failed string"
_ANSWER = pa.schema([("task", pa.int64()), ("rewritten", pa.binary()), ("failed", pa.string())])

_encoder = msgspec.msgpack.Encoder()
_tasks = msgspec.msgpack.Decoder(SpanTask)
_answers = msgspec.msgpack.Decoder(Rewritten)


def encode_task(task: SpanTask) -> bytes:
    return _encoder.encode(task)


def decode_answer(answer: bytes) -> Rewritten:
    return _answers.decode(answer)


class SpanWork:
    """The function of the job: turns numbers of tasks into their answers. Travels by pickle."""

    def __init__(self, tasks: tuple[bytes, ...], access: StorageAccess) -> None:
        self._tasks = tasks
        self._access = access

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield self._answer(number)

    def _answer(self, number: int) -> pa.RecordBatch:
        rewritten, failed = None, None
        try:
            rewritten = _encoder.encode(carry_out(_tasks.decode(self._tasks[number]), self._access))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this stream's alone
            failed = f"{type(error).__name__}: {error}"
        return pa.record_batch([[number], [rewritten], [failed]], schema=_ANSWER)


def carry_out(task: SpanTask, access: StorageAccess) -> Rewritten:
    """Write the file of a task into the store."""
    output = pa.BufferOutputStream()
    with BlockingStore(access) as store:
        ahead = ReadAhead(store, reads_of(task), AheadLimits())
        try:
            rewritten = rewrite(task, ahead.read, output)
        finally:
            ahead.stop()
        return _put(store, task, rewritten, output.getvalue(), SystemEntropy())


def _put(
    store: BlockingStore, task: SpanTask, rewritten: Rewritten, whole: pa.Buffer, entropy: Entropy
) -> Rewritten:
    try:
        store.begin(store.store.put_new(task.path, [whole])).result()
    except AlreadyExists:
        place = rewritten.place
        file_id = FileId(entropy.token(16))
        path = path_beside(task.path, task.stream, file_id)
        store.begin(store.store.put_new(path, [whole])).result()
        renamed = msgspec.structs.replace(place, file_id=file_id, path=path)
        return msgspec.structs.replace(rewritten, place=renamed)
    return rewritten
