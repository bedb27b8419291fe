"""The work of Spark, looked over the shoulder: what is counted, and whose files could not be written.

A failure is told with where it is: which offsets, and which objects they lie in.
"""

from collections.abc import Sequence

from dray.ids import StreamId
from dray.index import IndexEntry, ParquetEntry
from dray.pipeline.clean.tasks import CleanTask, Filtered
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.rewrite import Rewritten, SpanTask
from dray.pipeline.rounds import Perform, Rewrite, TaskFailed
from dray.pipeline.work import Answer, Task


class Watched:
    """Stands before those who do the work; made anew for each round."""

    def __init__(self, rewrite: Rewrite, perform: Perform | None, metrics: CompactionMetrics) -> None:
        self._rewrite = rewrite
        self._perform = perform
        self._metrics = metrics
        self.failed: set[StreamId] = set()
        self.written: set[StreamId] = set()
        self.damaged: set[str] = set()
        """Parquet files that could not be read."""

    @property
    def cleaning(self) -> Perform | None:
        return None if self._perform is None else self._clean

    async def rewrite(self, tasks: Sequence[SpanTask]) -> list[Rewritten | TaskFailed]:
        answers = await self._rewrite(tasks)
        return [self._seen(task, answer) for task, answer in zip(tasks, answers, strict=True)]

    async def _clean(self, tasks: Sequence[Task]) -> Sequence[Answer | TaskFailed]:
        assert self._perform is not None
        answers = await self._perform(tasks)
        for task, answer in zip(tasks, answers, strict=True):
            if isinstance(task, CleanTask) and isinstance(answer, Filtered) and answer.rewritten is not None:
                self._count("cleaned", [task.entry], answer.rewritten)
        return answers

    def _seen(self, task: SpanTask, answer: Rewritten | TaskFailed) -> Rewritten | TaskFailed:
        if isinstance(answer, TaskFailed):
            self.failed.add(task.stream)
            self.damaged |= {entry.path for entry in task.entries if _is_file(entry, answer.damaged)}
            return TaskFailed(f"offsets {_where(task)}: {answer.why}", answer.damaged)
        self.written.add(task.stream)
        self._metrics.unreadable.inc(answer.unreadable_batches)
        kind = "parquet" if isinstance(task.entries[0], ParquetEntry) else "wal"
        self._count(kind, task.entries, answer)
        return answer

    def _count(self, kind: str, entries: Sequence[IndexEntry], answer: Rewritten) -> None:
        self._metrics.files.labels(kind).inc()
        self._metrics.records.labels(kind).inc(answer.place.record_count)
        self._metrics.read_bytes.labels(kind).inc(sum(entry.stored_bytes for entry in entries))
        self._metrics.written_bytes.labels(kind).inc(answer.place.size_bytes)


def _is_file(entry: IndexEntry, path: str) -> bool:
    return isinstance(entry, ParquetEntry) and entry.path == path


def _where(task: SpanTask) -> str:
    start, end = task.first_offset, task.entries[-1].end_offset
    paths = list(dict.fromkeys(entry.path for entry in task.entries))
    others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{start} to {end - 1}, in {paths[0]}{others}"
