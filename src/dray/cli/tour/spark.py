"""Compaction of the tour, by Spark. Imports its libraries, so it is imported only where it is used."""

from collections.abc import Callable

from dray.cli.failure import Failure
from dray.server.compaction_loop import compact_once
from dray.server.stopping import Stop
from dray.server.stores import process_context
from dray.settings import DraySettings


async def compact(settings: DraySettings, echo: Callable[[str], None]) -> None:
    """Compact everything to Parquet, and print the progress."""
    printed = set[tuple[int, int]]()

    def show(done: int, of: int) -> None:
        if (done, of) not in printed:
            printed.add((done, of))
            echo(f"{done} of {of} files")

    progress = await compact_once(settings, process_context(), Stop(), show)
    if not progress.is_complete:
        raise Failure("not everything could be compacted")
