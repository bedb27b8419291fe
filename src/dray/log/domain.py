"""One meta domain of the log: its write path, its read path, and the stream heads both use."""

from dray.ids import MetaDomain
from dray.keyspace import log_domain
from dray.log.chunks import Chunks, RecentChunks
from dray.log.commit import Committer
from dray.log.deps import LogDeps
from dray.log.flushes import Flushes
from dray.log.heads import Heads
from dray.log.index_cache import IndexCache
from dray.log.offsets import OffsetFinder
from dray.log.reader import DomainReader
from dray.log.reporting import ErrorReporter
from dray.log.states import StreamStates
from dray.log.trim import Trimmer
from dray.log.upload import Uploader
from dray.log.writer import DomainWriter
from dray.runtime import ByteBudget


class DomainLog:
    """Assembly of one domain; the keyword arguments are shared by all domains of a process."""

    def __init__(
        self,
        domain: MetaDomain,
        deps: LogDeps,
        *,
        index: IndexCache,
        recent: RecentChunks,
        chunks: Chunks,
        budget: ByteBudget,
        errors: ErrorReporter,
        flushes: Flushes,
    ) -> None:
        self.name = log_domain(domain)
        self.states = StreamStates(deps.meta, self.name)
        self.heads = Heads(deps.meta, self.name, self.states, index, deps.clock)
        committer = Committer(
            domain,
            deps,
            states=self.states,
            heads=self.heads,
            index=index,
            recent=recent,
            errors=errors,
        )
        self.writer = DomainWriter(
            domain, deps, Uploader(domain, deps), committer, budget=budget, flushes=flushes
        )
        self.reader = DomainReader(
            domain,
            meta=deps.meta,
            heads=self.heads,
            index=index,
            chunks=chunks,
            readahead=deps.settings.readahead_chunks,
        )
        self.finder = OffsetFinder(self.reader)
        self.trimmer = Trimmer(deps.meta, domain, deps.clock, deps.settings)
