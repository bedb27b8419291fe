"""What everything in a compactor is given: the stores, the engine, time and chance, and the settings."""

from dataclasses import dataclass

from dray.log import LogSettings
from dray.meta.port import MetaStore
from dray.objects.port import ObjectStore
from dray.pipeline.engine import Perform
from dray.pipeline.index_files import IndexFiles
from dray.pipeline.job_store import JobStore
from dray.pipeline.publish import Publisher
from dray.pipeline.settings import CompactionSettings
from dray.runtime import Clock, Entropy
from dray.tables.port import Tables


@dataclass(frozen=True, slots=True)
class CompactionParts:
    """Made once for a compactor; rounds, cleaning and the care of tables share it."""

    meta: MetaStore
    jobs: JobStore
    objects: ObjectStore
    tables: Tables
    publisher: Publisher
    perform: Perform
    clock: Clock
    entropy: Entropy
    settings: CompactionSettings
    log_settings: LogSettings

    @property
    def index(self) -> IndexFiles:
        """The files that the index names."""
        return IndexFiles(self.meta, self.jobs)
