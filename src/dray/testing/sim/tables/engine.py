"""Compaction engine inside the compactor's process: the code of Spark's workers on the simulated store."""

import io
from collections.abc import Sequence

from typing_extensions import Buffer

from dray.compaction.engine import TaskFailure
from dray.compaction.rewrite import RewriteTask, rewrite
from dray.compaction.tasks import Task, TaskOutput, execute, has_output, reads_of, renamed
from dray.formats.parquet_v1 import Output
from dray.ids import FileId
from dray.index import path_beside
from dray.objects.port import AlreadyExists, ByteRange, NotFound, ObjectError, ObjectStore, OutOfRange
from dray.runtime import Entropy
from dray.scan.ranges import Read, ReadRanges
from dray.testing.sim.tables.damage import Damage

_GROUP_BYTES = 250
"""A few rows."""


class InProcessEngine:
    """Reads the byte ranges that tasks request, one by one, and writes their files."""

    def __init__(self, objects: ObjectStore, entropy: Entropy, damage: Damage) -> None:
        self._objects = objects
        self._entropy = entropy
        self._damage = damage

    async def run_tasks(self, tasks: Sequence[Task]) -> list[TaskOutput | TaskFailure]:
        return [await self._run_task(task) for task in tasks]

    async def _run_task(self, task: Task) -> TaskOutput | TaskFailure:
        try:
            return await self._execute(task)
        except ObjectError as error:
            return TaskFailure(f"{type(error).__name__}: {error}")

    async def _execute(self, task: Task) -> TaskOutput:
        prefetched: dict[Read, Buffer | ObjectError] = {}
        for read in reads_of(task):
            prefetched[read] = await self._prefetch(read)

        def read_ranges(path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
            return [_bytes_or_raise(prefetched[Read(path, at)]) for at in ranges]

        file = io.BytesIO()
        output = _output_of(task, read_ranges, file)
        return await self._put(task, output, file.getvalue()) if has_output(output) else output

    async def _prefetch(self, read: Read) -> Buffer | ObjectError:
        """Read a range; return an error instead of raising it, because the task handles it when it reads."""
        try:
            (found,) = await self._objects.get_ranges(read.path, [read.at])
            return self._damage.applied(read, found)
        except (NotFound, OutOfRange) as error:
            return error

    async def _put(self, task: Task, output: TaskOutput, data: bytes) -> TaskOutput:
        """Write the file, under another name if the path is taken."""
        try:
            await self._objects.put_new(task.path, [data])
        except AlreadyExists:
            file_id = FileId(self._entropy.token(16))
            path = path_beside(task.path, task.stream, file_id)
            await self._objects.put_new(path, [data])
            return renamed(output, file_id, path)
        return output


def _bytes_or_raise(read: Buffer | ObjectError) -> Buffer:
    if isinstance(read, ObjectError):
        raise read
    return read


def _output_of(task: Task, read: ReadRanges, output: Output) -> TaskOutput:
    if isinstance(task, RewriteTask):
        return rewrite(task, read, output, group_bytes=_GROUP_BYTES)
    return execute(task, read, output)
