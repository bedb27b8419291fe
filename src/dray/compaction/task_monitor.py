"""Task monitor: a wrapper of the engine that updates metrics and records which streams failed.

It prefixes the message of a failed task with the task's location: its offsets and their objects.
"""

from collections.abc import Sequence
from typing import NamedTuple

from dray.compaction.engine import RunTasks, TaskFailure
from dray.compaction.key_compaction.tasks import Filtered, FilterTask, KeyMapTask
from dray.compaction.metrics import CompactionMetrics
from dray.compaction.rewrite import RewriteTask, Rewritten
from dray.compaction.tasks import Task, TaskOutput
from dray.ids import StreamId
from dray.index import IndexEntry, ParquetEntry


class TaskMonitor:
    """Monitors the tasks of one round."""

    def __init__(self, run_tasks: RunTasks, metrics: CompactionMetrics) -> None:
        self._run_tasks = run_tasks
        self._metrics = metrics
        self.failed: set[StreamId] = set()
        self.succeeded: set[StreamId] = set()
        self.damaged: set[str] = set()
        """Parquet files that could not be read."""

    async def run_tasks(self, tasks: Sequence[Task]) -> list[TaskOutput | TaskFailure]:
        outputs = await self._run_tasks(tasks)
        return [self._record(task, output) for task, output in zip(tasks, outputs, strict=True)]

    def _record(self, task: Task, output: TaskOutput | TaskFailure) -> TaskOutput | TaskFailure:
        source = _source(task)
        if isinstance(output, TaskFailure):
            self.failed.add(task.stream)
            self.damaged |= {entry.path for entry in source.entries if _is_file(entry, output.damaged)}
            return TaskFailure(f"offsets {source}: {output.reason}", output.damaged)
        self.succeeded.add(task.stream)
        if isinstance(output, Filtered):
            if output.rewritten is not None:
                self._count("key_compacted", source.entries, output.rewritten)
        elif isinstance(output, Rewritten):
            kind = "parquet" if isinstance(source.entries[0], ParquetEntry) else "wal"
            self._count(kind, source.entries, output)
        return output

    def _count(self, kind: str, entries: Sequence[IndexEntry], output: Rewritten) -> None:
        self._metrics.written.files.labels(kind).inc()
        self._metrics.written.records.labels(kind).inc(output.file.record_count)
        self._metrics.written.read_bytes.labels(kind).inc(sum(entry.stored_bytes for entry in entries))
        self._metrics.written.written_bytes.labels(kind).inc(output.file.size_bytes)


class _Source(NamedTuple):
    """The input of a task."""

    start_offset: int
    end_offset: int
    entries: Sequence[IndexEntry]

    def __str__(self) -> str:
        paths = list(dict.fromkeys(entry.path for entry in self.entries))
        others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        return f"{self.start_offset} to {self.end_offset - 1}, in {paths[0]}{others}"


def _source(task: Task) -> _Source:
    match task:
        case RewriteTask():
            return _Source(task.first_offset, task.entries[-1].end_offset, task.entries)
        case KeyMapTask():
            return _Source(task.start_offset, task.end_offset, task.entries)
        case FilterTask(entry=entry):
            return _Source(max(entry.start_offset, task.first_offset), entry.end_offset, [entry])


def _is_file(entry: IndexEntry, path: str) -> bool:
    return isinstance(entry, ParquetEntry) and entry.path == path
