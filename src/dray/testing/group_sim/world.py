"""Simulation of a cluster that serves groups, from a seed to a verdict.

Members join, work, leave and crash while brokers crash and stall and their store fails. Then the faults end,
the cluster settles, and the ledgers are checked. The seed decides everything, also whether the store is
a networked one (see `dray.testing.meta_network`).
"""

import asyncio
from contextlib import suppress
from random import Random

from dray.cluster.brokers import decode_broker
from dray.groups.limits import GroupLimits
from dray.groups.stored import decode_group
from dray.keyspace import CLUSTER_DOMAIN, brokers_range, group_domain, group_key
from dray.meta.memory import MemoryMetaStore
from dray.runtime import Tasks
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLinkSettings
from dray.testing.group_sim.brokers import Broker, OneTopic
from dray.testing.group_sim.classic_member import ClassicMember
from dray.testing.group_sim.consumer_member import ConsumerMember
from dray.testing.group_sim.ledger import Ledger
from dray.testing.group_sim.members import REBALANCE_S, SESSION_S, UNREACHABLE, Member, SimulatedGroup
from dray.testing.group_sim.sessions import SessionServer
from dray.testing.meta_network import MetaNetwork, draw_network
from dray.testing.nodes import Node
from dray.testing.sim.seeds import Verdict, is_networked
from dray.testing.virtual_loop import run, virtual_loop

_STEP_SECONDS = 0.00002
_DOMAINS = 2
_LAG_MAX_S = 1.5
"""Later than this, a member's session may have expired before its broker sees a rebalance."""
_SILENCE_MAX_S = 5.0
_ONLY_NETWORK_ODDS = 0.5
"""Of networked seeds, those whose brokers neither crash nor stall: a crash ends what a cut has begun."""
_NETWORK_ALONE_MAX_S = 6.0
"""How long the network is faulty after brokers and members are not any more."""
_SETTLE_S = 4 * (SESSION_S + REBALANCE_S) + 20.0
_WATCH_INTERVAL_S = 0.2


def simulate(seed: int, *, networked: bool | None = None) -> Verdict:
    """Simulate one seed, with a networked metadata store or not; if unset, the seed decides."""
    world = _World(seed, networked=is_networked(seed) if networked is None else networked)
    return run(world.live(), seed=seed, step_seconds=_STEP_SECONDS, on_step=world.on_step)


class _World:
    def __init__(self, seed: int, *, networked: bool) -> None:
        self._seed = seed
        self._networked = networked
        self._random = Random(f"networked groups {seed}" if networked else f"groups {seed}")
        self._domains = self._random.choice((2, 4, 16)) if networked else _DOMAINS
        self._network: MetaNetwork | None = None
        self._lines: list[str] = []
        self._violations: list[str] = []
        """Of rules that are about brokers, not about a group."""
        self._crashes = 0
        self._crashing: dict[Node, int] = {}
        self._brokers: list[Broker] = []

    def on_step(self, node: Node | None) -> None:
        if node is None or node not in self._crashing:
            return
        self._crashing[node] -= 1
        if self._crashing[node] <= 0:
            del self._crashing[node]
            self._crashes += 1
            next(broker for broker in self._brokers if broker.node is node).crash()

    async def live(self) -> Verdict:
        choose, clock = self._random, VirtualClock(virtual_loop())
        server, topic = SessionServer(clock, self._violate), OneTopic(choose.randint(1, 8))
        self._network = self._open_network(server, clock) if self._networked else None
        brokers = choose.choice((2, 3, 3) if self._networked else (1, 2, 3))
        self._brokers = [self._broker(number, server, topic) for number in range(1, brokers + 1)]
        faults = self._faults()
        for broker in self._brokers:
            broker.faults = faults
            broker.boot()
        groups = [self._group(f"group{number}", topic, clock) for number in range(choose.randint(1, 2))]
        ledgers = [group.ledger for group in groups]
        watching = asyncio.create_task(_watch_store(server, clock, ledgers, self._domains))
        tasks = {member: asyncio.create_task(member.run()) for group in groups for member in group.members}
        disturbing = None if self._network is None else asyncio.create_task(self._network.disturb())
        await self._disturb(groups, tasks, topic, clock)
        await self._end_faults(clock)
        await clock.sleep(_SETTLE_S)
        for group in groups:
            _check_final_state(group)
        await self._check_registrations(server, clock)
        ending = [watching, *tasks.values(), *filter(None, [disturbing])]
        for task in ending:
            task.cancel()
        await asyncio.wait(ending)
        return self._verdict(ledgers)

    async def _disturb(
        self,
        groups: list[SimulatedGroup],
        tasks: dict[Member, "asyncio.Task[None]"],
        topic: OneTopic,
        clock: VirtualClock,
    ) -> None:
        choose = self._random
        events: tuple[str, ...] = ("die", "leave", "crash", "crash", "stall", "boot", "grow")
        if self._networked and choose.random() < _ONLY_NETWORK_ODDS:
            events = ("die", "leave", "boot", "grow")
        for _ in range(choose.randint(5, 25)):
            await clock.sleep(choose.uniform(0.1, 2.0))
            group = choose.choice(groups)
            member = choose.choice(group.members)
            match choose.choice(events):
                case "die":
                    tasks[member].cancel()
                    await asyncio.wait([tasks[member]])
                    member.die()
                    tasks[member] = asyncio.create_task(member.run())
                case "leave":
                    tasks[member].cancel()
                    await asyncio.wait([tasks[member]])
                    tasks[member] = asyncio.create_task(
                        _leave_and_return(member, choose.uniform(0, 4), clock)
                    )
                case "crash":
                    self._crashing[choose.choice(self._brokers).node] = choose.randint(1, 200)
                case "stall":
                    broker = choose.choice(self._brokers)
                    broker.node.pause()
                    await clock.sleep(choose.choice((0.3, 2.0, 6.0)))
                    broker.node.resume()
                case "boot":
                    self._boot_crashed()
                case "grow" if topic.partitions < 12:
                    topic.grow(1)

    async def _end_faults(self, clock: VirtualClock) -> None:
        """End all faults, those of the network last; sometimes one broker stays down."""
        self._crashing.clear()
        if len(self._brokers) > 1 and self._random.random() < 0.5:
            dead = self._brokers.pop()
            dead.node.resume()
            dead.crash()
        if self._network is not None:
            for broker in self._brokers:
                broker.node.resume()
            self._boot_crashed()
            await clock.sleep(self._random.uniform(0, _NETWORK_ALONE_MAX_S))
            self._network.heal()
            return
        for broker in self._brokers:
            broker.node.resume()
            broker.crash()  # its links would stay faulty otherwise
            broker.faults = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)
            broker.boot()

    def _boot_crashed(self) -> None:
        for broker in self._brokers:
            if not broker.node.alive:
                broker.boot()

    def _broker(self, number: int, server: SessionServer, topic: OneTopic) -> Broker:
        return Broker(
            number, self._seed, server, topic, self._limits(), domains=self._domains, network=self._network
        )

    def _open_network(self, server: SessionServer, clock: VirtualClock) -> MetaNetwork:
        settings = draw_network(self._random, lag_max_s=_LAG_MAX_S, silence_max_s=_SILENCE_MAX_S)
        return MetaNetwork(server, clock, self._random, self._lines.append, settings)

    def _violate(self, line: str) -> None:
        self._lines.append(f"VIOLATION {line}")
        self._violations.append(f"brokers: {line}")

    async def _check_registrations(self, server: SessionServer, clock: VirtualClock) -> None:
        meta = MemoryMetaStore(server, clock, SeededEntropy("registrations"), tasks=Tasks())
        stored = await meta.scan(CLUSTER_DOMAIN, *brokers_range())
        registered = sorted(decode_broker(entry).broker_id for entry in stored)
        running = sorted(broker.broker_id for broker in self._brokers)
        if registered != running:
            self._violate(f"G6: brokers {running} run, {registered} are registered")

    def _group(self, group_id: str, topic: OneTopic, clock: VirtualClock) -> SimulatedGroup:
        ledger = Ledger(group_id, self._lines)
        group = SimulatedGroup(self._brokers, clock, self._random, ledger, lambda: topic.partitions)
        if self._networked:
            group.commit_odds = self._random.choice((0.02, 0.02, 0.3, 1.0))
        kind: type[Member] = self._random.choice((ClassicMember, ConsumerMember))
        group.members = [kind(f"{group_id}-{number}", group) for number in range(self._random.randint(1, 4))]
        return group

    def _limits(self) -> GroupLimits:
        session_ms = int(SESSION_S * 1000)
        return GroupLimits(
            min_session_timeout_ms=session_ms,
            initial_rebalance_delay_ms=self._random.choice((0, 500)),
            consumer_session_timeout_ms=session_ms,
            consumer_min_session_timeout_ms=session_ms,
            consumer_heartbeat_interval_ms=400,
            consumer_min_heartbeat_interval_ms=400,
            consumer_assignment_interval_ms=self._random.choice((0, 1000)),
        )

    def _faults(self) -> FaultyLinkSettings:
        probability = self._random.choice((0.0, 0.01, 0.05))
        return FaultyLinkSettings(
            refused=probability, request_lost=probability, answer_lost=probability, late=probability
        )

    def _verdict(self, ledgers: list[Ledger]) -> Verdict:
        violations = (*self._violations, *(line for ledger in ledgers for line in ledger.violations))
        acknowledged = sum(one.commits for one in ledgers)
        return Verdict(
            self._seed, violations, tuple(self._lines), acknowledged, self._crashes, virtual_loop().steps
        )


async def _leave_and_return(member: Member, seconds: float, clock: VirtualClock) -> None:
    with suppress(*UNREACHABLE):
        await member.leave()
    await clock.sleep(seconds)
    await member.run()


async def _watch_store(
    server: SessionServer, clock: VirtualClock, ledgers: list[Ledger], domains: int
) -> None:
    """Check the stored groups periodically."""
    meta = MemoryMetaStore(server, clock, SeededEntropy("look"), tasks=Tasks())
    while True:
        for ledger in ledgers:
            domain = group_domain(ledger.group_id, domains)
            entry = await meta.get(domain, group_key(ledger.group_id))
            ledger.check_stored(None if entry is None else decode_group(entry.value))
        await clock.sleep(_WATCH_INTERVAL_S)


def _check_final_state(group: SimulatedGroup) -> None:
    used = sorted(partition for member in group.members for partition in member.owned)
    if used != list(range(group.partitions())) and group.members:
        shares = {member.name: member.owned for member in group.members}
        group.ledger.violate(f"G5: of {group.partitions()} partitions these are used: {shares}")
