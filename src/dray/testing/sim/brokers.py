"""Simulated brokers: a log on faulty stores in a process that may crash or stall at every step."""

from dataclasses import dataclass
from functools import partial
from random import Random

from dray.ids import MetaDomain, StreamId
from dray.log import Log, LogDeps, LogMetrics, LogSettings
from dray.meta.memory import MemoryMetaServer, MemoryMetaSettings, MemoryMetaStore
from dray.objects.memory import MemoryBucket
from dray.objects.port import ObjectStore
from dray.objects.retrying import ObjectRetries, Retrying
from dray.observe import Metrics
from dray.runtime import RetrySettings, Tasks
from dray.sweep import DomainSweep, RetentionPolicy
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.faulty_objects import FaultyObjects, ObjectFaults
from dray.testing.meta_network import MetaNetwork
from dray.testing.nodes import Node
from dray.testing.virtual_loop import virtual_loop

SWEEP_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class OpenStores:
    """The stores as opened by one process, and its runtime."""

    meta: MemoryMetaStore
    objects: ObjectStore
    clock: VirtualClock
    entropy: SeededEntropy
    tasks: Tasks


@dataclass(slots=True)
class Stores:
    """The two stores that all processes share, and the faults of the connections to them."""

    meta: MemoryMetaServer
    bucket: MemoryBucket
    link_faults: FaultyLinkSettings
    object_faults: ObjectFaults
    object_attempts: int = 10
    """Maximum attempts of each request to the object store."""
    network: MetaNetwork | None = None
    """The network of the metadata store; without one, `link_faults` apply to its connections."""

    def open(self, node: Node, seed: int, skew_ms: int) -> OpenStores:
        """Open the stores for the current incarnation of a process."""
        clock = VirtualClock(virtual_loop(), skew_ms=skew_ms)
        entropy = SeededEntropy(f"{seed} {node.name} {node.incarnation.number}")
        tasks = Tasks()
        meta = self._open_meta(node.name, clock, entropy, tasks)
        retries = RetrySettings(first_ms=10, max_ms=200, budget_ms=500, attempts=self.object_attempts)
        objects = Retrying(
            FaultyObjects(self.bucket, entropy, self.object_faults), clock, entropy, ObjectRetries(retries)
        )
        return OpenStores(meta, objects, clock, entropy, tasks)

    def _open_meta(
        self, name: str, clock: VirtualClock, entropy: SeededEntropy, tasks: Tasks
    ) -> MemoryMetaStore:
        budget = MemoryMetaSettings(RetrySettings(first_ms=5, max_ms=200, budget_ms=1_000))
        if self.network is None:
            link = FaultyLink(entropy, self.link_faults)
            return MemoryMetaStore(self.meta, clock, entropy, tasks=tasks, settings=budget, link=link)
        client = self.network.connect(name, entropy, clock)
        return MemoryMetaStore(
            self.meta, clock, entropy, tasks=tasks, settings=budget, link=client, feed=client.receive
        )


class Broker:
    """One broker process. A crash leaves nothing but its name."""

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
        """The log; None while the broker is down or starting."""
        return self._log if self.node.alive else None

    def boot(self) -> None:
        if not self.node.alive:
            self.node.restart()
        self._log = None
        self.node.start(self._main(), name=f"{self.node.name}-main")

    def crash(self) -> None:
        self.node.crash()
        self._log = None

    async def wait_until_up(self, clock: VirtualClock) -> Log:
        """Wait until the log has started; return it."""
        while self.log is None:
            await clock.sleep(0.01)
        return self.log

    async def _main(self) -> None:
        deps = self._deps()
        log = Log(deps)
        await log.start()
        await self._start_background_tasks(deps, log)
        self._log = log

    def _deps(self) -> LogDeps:
        stores = self._stores.open(self.node, self._seed, self._skew_ms)
        return LogDeps(
            stores.meta,
            stores.objects,
            stores.clock,
            stores.entropy,
            stores.tasks,
            self._settings,
            LogMetrics.on(Metrics()),
            self.node.name,
            self._domains,
        )

    async def _start_background_tasks(self, deps: LogDeps, log: Log) -> None:
        del log
        for number in range(self._domains):
            deps.tasks.every(
                SWEEP_SECONDS,
                partial(self._sweep, deps, MetaDomain(number)),
                name="sweep",
                clock=deps.clock,
            )

    async def _sweep(self, deps: LogDeps, domain: MetaDomain) -> None:
        sweep = DomainSweep(
            deps.meta,
            deps.objects,
            domain,
            domains=deps.domains,
            clock=deps.clock,
            settings=deps.settings,
            policy_of=self._policy_of,
        )
        await sweep.run()
        await sweep.run_strays()

    def _policy_of(self, stream: StreamId) -> RetentionPolicy:
        """Never expire records."""
        del stream
        return RetentionPolicy()
