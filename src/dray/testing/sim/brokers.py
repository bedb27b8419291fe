"""Simulated brokers: a log on faulty stores in a process that may die or stall at every step."""

from dataclasses import dataclass
from functools import partial
from random import Random

from dray.ids import MetaDomain, StreamId
from dray.log import Log, LogMetrics, LogParts, LogSettings
from dray.meta.memory import MemoryMetaServer, MemoryMetaSettings, MemoryMetaStore
from dray.objects.faulty import FaultSettings, Faulty
from dray.objects.memory import MemoryBucket
from dray.objects.port import ObjectStore
from dray.objects.retrying import ObjectRetries, Retrying
from dray.observe import Metrics
from dray.runtime import RetrySettings, SeededEntropy, Tasks
from dray.sweep import DomainSweep, RetentionPolicy
from dray.testing.clock import VirtualClock
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.nodes import Node
from dray.testing.virtual_loop import virtual_loop

SWEEP_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Opened:
    """The stores as one process has them, and what it needs to use them."""

    meta: MemoryMetaStore
    objects: ObjectStore
    clock: VirtualClock
    entropy: SeededEntropy
    tasks: Tasks


@dataclass(slots=True)
class Stores:
    """The two stores that all processes share, and how badly they behave."""

    meta: MemoryMetaServer
    bucket: MemoryBucket
    link_faults: FaultyLinkSettings
    object_faults: FaultSettings
    object_attempts: int = 10
    """How often a process tries before it gives up on an object."""

    def opened_by(self, node: Node, seed: int, skew_ms: int) -> Opened:
        """Open the stores for the present life of a process."""
        clock = VirtualClock(virtual_loop(), skew_ms=skew_ms)
        entropy = SeededEntropy(f"{seed} {node.name} {node.life.number}")
        tasks = Tasks()
        link = FaultyLink(entropy, self.link_faults)
        budget = MemoryMetaSettings(RetrySettings(first_ms=5, max_ms=200, budget_ms=1_000))
        meta = MemoryMetaStore(self.meta, link, clock, entropy, tasks=tasks, settings=budget)
        retries = RetrySettings(first_ms=10, max_ms=200, budget_ms=500, attempts=self.object_attempts)
        objects = Retrying(
            Faulty(self.bucket, entropy, self.object_faults), clock, entropy, ObjectRetries(retries)
        )
        return Opened(meta, objects, clock, entropy, tasks)


class Broker:
    """One process. Everything but its name is gone when it crashes."""

    def __init__(self, name: str, seed: int, stores: Stores, settings: LogSettings, domains: int) -> None:
        self.node = Node(name)
        self._seed = seed
        self._stores = stores
        self._settings = settings
        self._domains = domains
        self._log: Log | None = None
        self._skew_ms = Random(f"{seed} {name} skew").randint(-50, 50)

    @property
    def log(self) -> Log | None:
        """The log, once it has started."""
        return self._log if self.node.alive else None

    def boot(self) -> None:
        if not self.node.alive:
            self.node.restart()
        self._log = None
        self.node.start(self._main(), name=f"{self.node.name}-main")

    def crash(self) -> None:
        self.node.crash()
        self._log = None

    async def _main(self) -> None:
        parts = self._parts()
        log = Log(parts)
        await log.start()
        await self._tend(parts, log)
        self._log = log

    def _parts(self) -> LogParts:
        opened = self._stores.opened_by(self.node, self._seed, self._skew_ms)
        return LogParts(
            opened.meta,
            opened.objects,
            opened.clock,
            opened.entropy,
            opened.tasks,
            self._settings,
            LogMetrics.on(Metrics()),
            self.node.name,
            self._domains,
        )

    async def _tend(self, parts: LogParts, log: Log) -> None:
        """Start what a broker does besides serving its log."""
        del log
        for number in range(self._domains):
            parts.tasks.every(
                SWEEP_SECONDS,
                partial(self._sweep, parts, MetaDomain(number)),
                name="sweep",
                clock=parts.clock,
            )

    async def _sweep(self, parts: LogParts, domain: MetaDomain) -> None:
        sweep = DomainSweep(
            parts.meta,
            parts.objects,
            domain,
            domains=parts.domains,
            clock=parts.clock,
            settings=parts.settings,
            policy_of=self._policy_of,
        )
        await sweep.run()
        await sweep.run_strays()

    def _policy_of(self, stream: StreamId) -> RetentionPolicy:
        """Keep everything."""
        del stream
        return RetentionPolicy()
