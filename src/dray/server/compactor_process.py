"""The compactor of `dray up`, in its own process, and what compaction requires of the machine.

As long as there is no topic the process uses no more memory than a broker: the libraries are loaded with the
first topic, and Spark starts with the first file.
"""

import os
import sys
from typing import TYPE_CHECKING, Final

from dray.keyspace import CLUSTER_DOMAIN, topics_range
from dray.meta.port import MetaError, MetaStore, Unavailable
from dray.observe import logged_fields
from dray.runtime import LazyModule, Threads
from dray.server.errors import ConfigurationError, StartupError, require
from dray.server.stopping import Stop
from dray.server.stores import open_stores, process_context
from dray.settings import DraySettings
from dray.spark.java import JavaMissing, find_java
from dray.spark.settings import usual_cache

if TYPE_CHECKING:
    from dray.server import compaction_loop
else:
    compaction_loop = LazyModule("dray.server.compaction_loop")

_MODULES: Final = ("numba", "numpy", "pandas", "pyarrow", "pyiceberg", "pyspark")


def check_requirements() -> None:
    """Raise `ConfigurationError` if something is not installed, with the command to do so. Runs `java`."""
    require(_MODULES, "spark")
    try:
        find_java(usual_cache(os.environ), os.environ)
    except JavaMissing as error:
        raise ConfigurationError(str(error)) from error


def show_files(done: int, of: int) -> None:
    """Show how many files of a round Spark has written, if standard error is a terminal."""
    if sys.stderr.isatty():
        end = "\n" if done == of else ""
        sys.stderr.write(f"\r\x1b[Kwriting Parquet files: {done} of {of}{end}")
        sys.stderr.flush()


async def serve_tables(settings: DraySettings, stop: Stop) -> None:
    """Compact until asked to stop; raises `ConfigurationError` if a requirement is not installed."""
    with logged_fields(process="compactor"):
        threads = Threads("requirements", 1)
        try:
            await threads.run(check_requirements)
        finally:
            await threads.stop()
        if await stop.unless_requested(_first_topic(settings)):
            await compaction_loop.run_compactor(settings, stop, show_files)


async def _first_topic(settings: DraySettings) -> bool:
    """Wait until the cluster has a topic."""
    context = process_context()
    async with open_stores(settings, context, waits=True) as stores:
        try:
            while not await _has_topic(stores.meta):
                await context.clock.sleep(settings.compaction.interval_ms / 1000)
        except MetaError as error:
            raise StartupError(str(error)) from error
    return True


async def _has_topic(meta: MetaStore) -> bool:
    try:
        return bool(await meta.scan(CLUSTER_DOMAIN, *topics_range(), limit=1))
    except Unavailable:
        return False  # the brokers log it
