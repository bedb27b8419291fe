"""What Spark's workers do, done in the compactor's own process: the same code over the simulated store."""

import io
from collections.abc import Sequence

from typing_extensions import Buffer

from dray.formats.parquet_v1 import Output
from dray.ids import FileId
from dray.index import path_beside
from dray.objects.port import AlreadyExists, ByteRange, ObjectError, ObjectStore
from dray.pipeline.engine import TaskFailed
from dray.pipeline.reads import Read, ReadRanges
from dray.pipeline.rewrite import SpanTask, rewrite
from dray.pipeline.work import Answer, Task, perform, reads_of, renamed
from dray.runtime import Entropy

_GROUP_BYTES = 250
"""A few rows."""


class Engine:
    """Reads what the tasks foretell, piece by piece, and writes their files."""

    def __init__(self, objects: ObjectStore, entropy: Entropy) -> None:
        self._objects = objects
        self._entropy = entropy

    async def perform(self, tasks: Sequence[Task]) -> list[Answer | TaskFailed]:
        return [await self._answer(task) for task in tasks]

    async def _answer(self, task: Task) -> Answer | TaskFailed:
        try:
            return await self._carry_out(task)
        except ObjectError as error:
            return TaskFailed(f"{type(error).__name__}: {error}")

    async def _carry_out(self, task: Task) -> Answer:
        held: dict[Read, Buffer] = {}
        for read in reads_of(task):
            (held[read],) = await self._objects.get_ranges(read.path, [read.at])

        def at_hand(path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
            return [held[Read(path, at)] for at in ranges]

        output = io.BytesIO()
        answer = _done(task, at_hand, output)
        whole = output.getvalue()
        return await self._put(task, answer, whole) if whole else answer

    async def _put(self, task: Task, answer: Answer, whole: bytes) -> Answer:
        """Take another name if the path is taken."""
        try:
            await self._objects.put_new(task.path, [whole])
        except AlreadyExists:
            file_id = FileId(self._entropy.token(16))
            path = path_beside(task.path, task.stream, file_id)
            await self._objects.put_new(path, [whole])
            return renamed(answer, file_id, path)
        return answer


def _done(task: Task, read: ReadRanges, output: Output) -> Answer:
    if isinstance(task, SpanTask):
        return rewrite(task, read, output, group_bytes=_GROUP_BYTES)
    return perform(task, read, output)
