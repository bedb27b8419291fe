"""The compactor of `dray up`, in its own process.

As long as there is no topic it holds no more than a broker does: the libraries are loaded with the first
topic, and Spark starts with the first file.
"""

from typing import TYPE_CHECKING

from dray.cli.compaction.needs import check_needs
from dray.cli.failure import Failure
from dray.cli.settings import DraySettings
from dray.cli.stopping import Stop
from dray.cli.wiring import open_stores, surroundings
from dray.cluster.keys import CLUSTER_DOMAIN, topics_range
from dray.meta.port import MetaError
from dray.observe import logged_fields
from dray.runtime import LazyModule, Threads

if TYPE_CHECKING:
    from dray.cli.compaction import assembly, turns
else:
    assembly = LazyModule("dray.cli.compaction.assembly")
    turns = LazyModule("dray.cli.compaction.turns")


async def serve_tables(settings: DraySettings, stop: Stop) -> None:
    """Compact until told to stop; raises `WrongUse` if the machine lacks what that takes."""
    with logged_fields(process="compactor"):
        threads = Threads("needs", 1)
        try:
            await threads.run(check_needs)
        finally:
            await threads.stop()
        if await stop.unless_asked(_first_topic(settings)):
            await _compact(settings, stop)


async def _compact(settings: DraySettings, stop: Stop) -> None:
    around, told = surroundings(), turns.Told()
    async with assembly.running_compactor(settings, around, told.note) as compactor:
        await turns.go_on(compactor, told, settings.compaction.interval_ms / 1000, around.clock, stop)


async def _first_topic(settings: DraySettings) -> bool:
    """Wait until the cluster has a topic."""
    around = surroundings()
    async with open_stores(settings, around) as stores:
        try:
            while not await stores.meta.scan(CLUSTER_DOMAIN, *topics_range(), limit=1):
                await around.clock.sleep(settings.compaction.interval_ms / 1000)
        except MetaError as error:
            raise Failure(str(error)) from error
    return True
