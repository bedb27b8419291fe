"""The work of the engine, looked over the shoulder: what is counted, and whose tasks could not be done.

When a task fails, that is told with where it is: which offsets, and which objects they lie in.
"""

from collections.abc import Sequence
from typing import NamedTuple

from dray.ids import StreamId
from dray.index import IndexEntry, ParquetEntry
from dray.pipeline.clean.tasks import CleanTask, Filtered, MapTask
from dray.pipeline.engine import Perform, TaskFailed
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.rewrite import Rewritten, SpanTask
from dray.pipeline.work import Answer, Task


class Watched:
    """Stands before the engine; made anew for each round."""

    def __init__(self, perform: Perform, metrics: CompactionMetrics) -> None:
        self._perform = perform
        self._metrics = metrics
        self.failed: set[StreamId] = set()
        self.done: set[StreamId] = set()
        self.damaged: set[str] = set()
        """Parquet files that could not be read."""

    async def perform(self, tasks: Sequence[Task]) -> list[Answer | TaskFailed]:
        answers = await self._perform(tasks)
        return [self._seen(task, answer) for task, answer in zip(tasks, answers, strict=True)]

    def _seen(self, task: Task, answer: Answer | TaskFailed) -> Answer | TaskFailed:
        source = _source(task)
        if isinstance(answer, TaskFailed):
            self.failed.add(task.stream)
            self.damaged |= {entry.path for entry in source.entries if _is_file(entry, answer.damaged)}
            return TaskFailed(f"offsets {source}: {answer.why}", answer.damaged)
        self.done.add(task.stream)
        if isinstance(answer, Filtered):
            if answer.rewritten is not None:
                self._count("cleaned", source.entries, answer.rewritten)
        elif isinstance(answer, Rewritten):
            kind = "parquet" if isinstance(source.entries[0], ParquetEntry) else "wal"
            self._count(kind, source.entries, answer)
        return answer

    def _count(self, kind: str, entries: Sequence[IndexEntry], answer: Rewritten) -> None:
        self._metrics.unreadable.inc(answer.unreadable_batches)
        self._metrics.files.labels(kind).inc()
        self._metrics.records.labels(kind).inc(answer.place.record_count)
        self._metrics.read_bytes.labels(kind).inc(sum(entry.stored_bytes for entry in entries))
        self._metrics.written_bytes.labels(kind).inc(answer.place.size_bytes)


class _Source(NamedTuple):
    """What a task reads of a stream."""

    start_offset: int
    end_offset: int
    entries: Sequence[IndexEntry]

    def __str__(self) -> str:
        paths = list(dict.fromkeys(entry.path for entry in self.entries))
        others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        return f"{self.start_offset} to {self.end_offset - 1}, in {paths[0]}{others}"


def _source(task: Task) -> _Source:
    match task:
        case SpanTask():
            return _Source(task.first_offset, task.entries[-1].end_offset, task.entries)
        case MapTask():
            return _Source(task.start_offset, task.end_offset, task.entries)
        case CleanTask(entry=entry):
            return _Source(max(entry.start_offset, task.first_offset), entry.end_offset, [entry])


def _is_file(entry: IndexEntry, path: str) -> bool:
    return isinstance(entry, ParquetEntry) and entry.path == path
