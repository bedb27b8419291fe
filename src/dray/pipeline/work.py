"""All kinds of tasks that a worker can be given, and what it does for each. See `rewrite` and `clean`."""

from collections.abc import Iterator

from dray.formats.parquet_v1 import Output
from dray.pipeline.clean.filter import clean, clean_reads, map_keys, map_reads
from dray.pipeline.clean.tasks import CleanTask, Filtered, Mapped, MapTask
from dray.pipeline.rewrite import Read, ReadRanges, Rewritten, SpanTask, rewrite
from dray.pipeline.rewrite import reads_of as span_reads

Task = SpanTask | MapTask | CleanTask
Answer = Rewritten | Mapped | Filtered


def reads_of(task: Task) -> Iterator[Read]:
    """Foretell what `perform` reads, in its order."""
    match task:
        case MapTask():
            return map_reads(task)
        case CleanTask():
            return clean_reads(task)
        case SpanTask():
            return span_reads(task)


def perform(task: Task, read: ReadRanges, output: Output) -> Answer:
    """Do a task; what it writes to `output`, if anything, is to be put where the task says."""
    match task:
        case MapTask():
            return map_keys(task, read, output)
        case CleanTask():
            return clean(task, read, output)
        case SpanTask():
            return rewrite(task, read, output)
