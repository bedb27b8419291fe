"""All kinds of tasks: what each reads, its execution in a worker, and its output.

`rewrite` and `key_compaction.filter` implement them. A task is synchronous and touches only objects.
"""

from collections.abc import Iterator

import msgspec

from dray.compaction.key_compaction.filter import filter_file, filter_reads, key_map_reads, write_key_map
from dray.compaction.key_compaction.tasks import Filtered, FilterTask, KeyMap, KeyMapTask
from dray.compaction.rewrite import RewriteTask, Rewritten, Unconvertible, rewrite, rewrite_reads
from dray.formats.parquet_v1 import Output
from dray.ids import FileId
from dray.scan.ranges import Read, ReadRanges
from dray.scan.unreadable import with_probe

Task = RewriteTask | KeyMapTask | FilterTask
TaskOutput = Rewritten | Unconvertible | KeyMap | Filtered


def reads_of(task: Task) -> Iterator[Read]:
    """Predict what `execute` reads, in order, for prefetching."""
    match task:
        case KeyMapTask():
            return key_map_reads(task)
        case FilterTask():
            return filter_reads(task)
        case RewriteTask():
            return rewrite_reads(task)


def execute(task: Task, read: ReadRanges, output: Output) -> TaskOutput:
    """Execute a task; if `has_output`, the caller stores `output` at the task's path."""
    read = with_probe(read)
    match task:
        case KeyMapTask():
            return write_key_map(task, read, output)
        case FilterTask():
            return filter_file(task, read, output)
        case RewriteTask():
            return rewrite(task, read, output)


def has_output(result: TaskOutput) -> bool:
    """Return whether the task has written an object to be stored."""
    match result:
        case Unconvertible() | Filtered(rewritten=None):
            return False
        case _:
            return True


def renamed(result: TaskOutput, file_id: FileId, path: str) -> TaskOutput:
    """Return the result with the name under which its object was stored because the task's path was taken."""
    match result:
        case KeyMap():
            return msgspec.structs.replace(result, path=path)
        case Filtered(rewritten=rewritten):
            assert rewritten is not None
            return msgspec.structs.replace(result, rewritten=renamed(rewritten, file_id, path))
        case Unconvertible():
            raise ValueError("a task that could not convert its range has no output to rename")
        case Rewritten():
            file = msgspec.structs.replace(result.file, file_id=file_id, path=path)
            return msgspec.structs.replace(result, file=file)
