"""What Spark's workers do, done in the compactor's own process: the same code over the simulated store."""

import io
from collections.abc import Sequence

import msgspec
from typing_extensions import Buffer

from dray.ids import FileId
from dray.index import path_beside
from dray.objects.port import AlreadyExists, ByteRange, ObjectError, ObjectStore
from dray.pipeline.rewrite import Read, Rewritten, SpanTask, reads_of, rewrite
from dray.pipeline.rounds import TaskFailed
from dray.runtime import Entropy

_GROUP_BYTES = 250
"""A few rows."""


class Rewriter:
    """Reads what the tasks foretell, piece by piece, and writes their files."""

    def __init__(self, objects: ObjectStore, entropy: Entropy) -> None:
        self._objects = objects
        self._entropy = entropy

    async def rewrite(self, tasks: Sequence[SpanTask]) -> list[Rewritten | TaskFailed]:
        return [await self._answer(task) for task in tasks]

    async def _answer(self, task: SpanTask) -> Rewritten | TaskFailed:
        try:
            return await self._carry_out(task)
        except ObjectError as error:
            return TaskFailed(f"{type(error).__name__}: {error}")

    async def _carry_out(self, task: SpanTask) -> Rewritten:
        held: dict[Read, Buffer] = {}
        for read in reads_of(task):
            (held[read],) = await self._objects.get_ranges(read.path, [read.at])

        def at_hand(path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
            return [held[Read(path, at)] for at in ranges]

        output = io.BytesIO()
        rewritten = rewrite(task, at_hand, output, group_bytes=_GROUP_BYTES)
        return await self._put(task, rewritten, output.getvalue())

    async def _put(self, task: SpanTask, rewritten: Rewritten, whole: bytes) -> Rewritten:
        """Take another name if the path is taken."""
        try:
            await self._objects.put_new(task.path, [whole])
        except AlreadyExists:
            file_id = FileId(self._entropy.token(16))
            path = path_beside(task.path, task.stream, file_id)
            await self._objects.put_new(path, [whole])
            place = msgspec.structs.replace(rewritten.place, file_id=file_id, path=path)
            return msgspec.structs.replace(rewritten, place=place)
        return rewritten
