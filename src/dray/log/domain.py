"""One meta domain of the log: its write path, its read path, and the heads between them."""

from dray.ids import MetaDomain
from dray.index import domain_name
from dray.log.chunks import Chunks
from dray.log.heads import Heads
from dray.log.lost_sequences import LostSequences
from dray.log.offsets import OffsetFinder
from dray.log.parts import DomainParts, LogParts, Shared
from dray.log.reader import DomainReader
from dray.log.reservations import Reservations
from dray.log.states import StreamStates
from dray.log.trim import Trimmer
from dray.log.writer import DomainWriter
from dray.meta.port import Domain


class DomainLog:
    """The parts of one domain, put together."""

    def __init__(self, domain: MetaDomain, log: LogParts, shared: Shared, chunks: Chunks) -> None:
        self.name = Domain(domain_name(domain))
        states = StreamStates(log.meta, self.name)
        self.heads = Heads(log.meta, self.name, states, shared.index, log.clock)
        reservations = Reservations(
            log.meta,
            self.name,
            domain,
            zone=log.zone,
            clock=log.clock,
            entropy=log.entropy,
            tasks=log.tasks,
            settings=log.settings,
        )
        self.writer = DomainWriter(
            DomainParts(domain, self.name, log, shared, states, self.heads, reservations, LostSequences())
        )
        self.reader = DomainReader(
            self.name,
            meta=log.meta,
            heads=self.heads,
            index=shared.index,
            chunks=chunks,
            readahead=log.settings.readahead_chunks,
        )
        self.finder = OffsetFinder(self.reader)
        self.trimmer = Trimmer(log.meta, self.name, domain, log.clock, log.settings)
