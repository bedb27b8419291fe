"""The writing of files, looked over the shoulder: what is counted, and whose writing failed.

A failure is told with where it is: which offsets, and which objects they lie in.
"""

from collections.abc import Sequence

from dray.ids import StreamId
from dray.index import IndexEntry, ParquetEntry
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.rewrite import Rewritten, SpanTask
from dray.pipeline.rounds import Rewrite, TaskFailed


class WatchedRewrite:
    """Stands before the one that writes; made anew for each round."""

    def __init__(self, rewrite: Rewrite, metrics: CompactionMetrics) -> None:
        self._rewrite = rewrite
        self._metrics = metrics
        self.failed: set[StreamId] = set()
        self.written: set[StreamId] = set()

    async def __call__(self, tasks: Sequence[SpanTask]) -> list[Rewritten | TaskFailed]:
        answers = await self._rewrite(tasks)
        return [self._seen(task, answer) for task, answer in zip(tasks, answers, strict=True)]

    def _seen(self, task: SpanTask, answer: Rewritten | TaskFailed) -> Rewritten | TaskFailed:
        if isinstance(answer, TaskFailed):
            self.failed.add(task.stream)
            return TaskFailed(f"offsets {_where(task)}: {answer.why}")
        self.written.add(task.stream)
        kind = "parquet" if isinstance(task.entries[0], ParquetEntry) else "wal"
        self._metrics.files.labels(kind).inc()
        self._metrics.records.labels(kind).inc(answer.place.record_count)
        self._metrics.read_bytes.labels(kind).inc(sum(map(_stored_bytes, task.entries)))
        self._metrics.written_bytes.labels(kind).inc(answer.place.size_bytes)
        return answer


def _where(task: SpanTask) -> str:
    start, end = task.first_offset, task.entries[-1].end_offset
    paths = list(dict.fromkeys(entry.path for entry in task.entries))
    others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{start} to {end - 1}, in {paths[0]}{others}"


def _stored_bytes(entry: IndexEntry) -> int:
    return entry.size_bytes if isinstance(entry, ParquetEntry) else entry.chunk_length
