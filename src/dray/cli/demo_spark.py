"""The compaction of the tour, by Spark. Imports its libraries, so it is imported only where it is used."""

from collections.abc import Callable

from msgspec import structs

from dray.cli.compaction.assembly import running_compactor
from dray.cli.compaction.turns import Told, until_nothing_is_left
from dray.cli.failure import Failure
from dray.cli.settings import DraySettings
from dray.cli.stopping import Stop
from dray.cli.wiring import surroundings


async def compact(settings: DraySettings, tell: Callable[[str], None]) -> None:
    """Turn all that is there into Parquet, and tell how far it is."""
    told, shown = Told(), set[tuple[int, int]]()

    def note(done: int, of: int) -> None:
        if (done, of) not in shown:
            shown.add((done, of))
            tell(f"{done} of {of} files")

    eager = structs.replace(settings, compaction=structs.replace(settings.compaction, wal_age_ms_max=0))
    async with running_compactor(eager, surroundings(), note) as compactor:
        await until_nothing_is_left(compactor, told, Stop())
    if told.failures:
        raise Failure("not everything could be compacted")
