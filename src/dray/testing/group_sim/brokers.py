"""Simulated brokers that serve only groups and whose clocks are wrong, and the only topic they know."""

from collections.abc import Iterable
from random import Random
from typing import Final

from dray.cluster.brokers import BrokerInfo, LiveBrokers, Registration
from dray.coordinators import CoordinatorDeps, GroupCoordinator
from dray.groups.limits import GroupLimits
from dray.groups.types import TopicImage
from dray.meta.memory import MemoryMetaSettings, MemoryMetaStore
from dray.meta.port import MetaError
from dray.runtime import RetrySettings, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.group_sim.sessions import ObservedMetaStore, SessionServer
from dray.testing.meta_network import MetaNetwork
from dray.testing.nodes import Node
from dray.testing.virtual_loop import virtual_loop

TOPIC: Final = "t"
TOPIC_ID: Final = b"sixteen bytes ..".ljust(16)[:16]
_TTL_MS = 1_500


class OneTopic:
    """A `TopicsImage`. All brokers see it change at the same moment."""

    def __init__(self, partitions: int) -> None:
        self.version = 1
        self._partitions = partitions

    @property
    def partitions(self) -> int:
        return self._partitions

    def grow(self, more: int) -> None:
        self._partitions += more
        self.version += 1

    def find(self, name: str) -> TopicImage | None:
        return TopicImage(TOPIC, TOPIC_ID, self._partitions) if name == TOPIC else None

    def find_id(self, topic_id: bytes) -> TopicImage | None:
        return self.find(TOPIC) if topic_id == TOPIC_ID else None

    def names(self) -> Iterable[str]:
        return (TOPIC,)

    def is_visible(self, _: str) -> bool:
        return True


class Broker:
    """One broker process. A crash leaves nothing but its id."""

    def __init__(
        self,
        broker_id: int,
        seed: int,
        server: SessionServer,
        topic: OneTopic,
        limits: GroupLimits,
        *,
        domains: int,
        network: MetaNetwork | None,
    ) -> None:
        self.broker_id = broker_id
        self.node = Node(f"broker{broker_id}")
        self.faults = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)
        """Faults of the connection to the metadata store, unless it has a network."""
        self._network = network
        self._domains = domains
        self._seed = seed
        self._server = server
        self._topic = topic
        self._limits = limits
        self._groups: GroupCoordinator | None = None
        self._skew_ms = Random(f"{seed} {broker_id} skew").randint(-3_600_000, 3_600_000)

    @property
    def groups(self) -> GroupCoordinator | None:
        """The group coordinator; None while the broker is down or starting."""
        return self._groups if self.node.alive else None

    def boot(self) -> None:
        if not self.node.alive:
            self.node.restart()
        self._groups = None
        self.node.start(self._main(), name=f"{self.node.name}-main")

    def crash(self) -> None:
        self.node.crash()
        self._groups = None

    async def _main(self) -> None:
        clock = VirtualClock(virtual_loop(), skew_ms=self._skew_ms)
        while True:
            try:
                await self._serve(clock)
            except MetaError:
                await clock.sleep(0.5)
            else:
                return

    async def _serve(self, clock: VirtualClock) -> None:
        entropy, tasks = (
            SeededEntropy(f"{self._seed} {self.broker_id} {self.node.incarnation.number}"),
            Tasks(),
        )
        meta = self._open_meta(clock, entropy, tasks)
        brokers = LiveBrokers(meta, clock)
        await brokers.start(tasks)
        info = BrokerInfo(self.broker_id, "sim", self.broker_id, None, 0, "sim")
        registration = Registration(meta, info, ttl_ms=_TTL_MS, clock=clock)
        await registration.start(tasks)
        groups = GroupCoordinator(
            CoordinatorDeps(
                self.broker_id,
                meta,
                self._domains,
                brokers,
                self._topic,
                lambda _: self._limits,
                clock,
                tasks,
                is_registered=lambda: registration.alive,
            )
        )
        await groups.start()
        self._groups = groups

    def _open_meta(self, clock: VirtualClock, entropy: SeededEntropy, tasks: Tasks) -> MemoryMetaStore:
        settings = MemoryMetaSettings(RetrySettings(first_ms=5, max_ms=200, budget_ms=1_000))
        if self._network is None:
            link = FaultyLink(entropy, self.faults)
            return ObservedMetaStore(self._server, clock, entropy, tasks=tasks, settings=settings, link=link)
        client = self._network.connect(self.node.name, entropy, clock)
        return ObservedMetaStore(
            self._server, clock, entropy, tasks=tasks, settings=settings, link=client, feed=client.receive
        )
