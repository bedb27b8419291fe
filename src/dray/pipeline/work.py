"""All kinds of tasks that a worker can be given, and what it does for each. See `rewrite` and `clean`."""

from collections.abc import Iterator

import msgspec

from dray.formats.parquet_v1 import Output
from dray.ids import FileId
from dray.pipeline.clean.filter import clean, clean_reads, map_keys, map_reads
from dray.pipeline.clean.tasks import CleanTask, Filtered, Mapped, MapTask
from dray.pipeline.reads import Read, ReadRanges
from dray.pipeline.rewrite import Rewritten, SpanTask, rewrite
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


def renamed(answer: Answer, file_id: FileId, path: str) -> Answer:
    """Return the answer with the name that its file or object has got because the task's was taken."""
    match answer:
        case Mapped():
            return msgspec.structs.replace(answer, path=path)
        case Filtered(rewritten=rewritten):
            assert rewritten is not None
            return msgspec.structs.replace(answer, rewritten=renamed(rewritten, file_id, path))
        case _:
            place = msgspec.structs.replace(answer.place, file_id=file_id, path=path)
            return msgspec.structs.replace(answer, place=place)
