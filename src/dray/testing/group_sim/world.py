"""A cluster that serves groups, from a seed to a verdict.

Members join, work, leave and die while brokers crash and stall and their store misbehaves. Then everything is
let come to rest, and the books are looked at. The seed decides all of it.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from dray.coordinators.keys import group_domain, group_key
from dray.groups.limits import GroupLimits
from dray.groups.stored import decode_group
from dray.meta.memory import DirectLink, MemoryMetaServer, MemoryMetaStore
from dray.runtime import SeededEntropy, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.faulty_link import FaultyLinkSettings
from dray.testing.group_sim.brokers import Broker
from dray.testing.group_sim.ledger import Ledger
from dray.testing.group_sim.members import (
    AWAY,
    REBALANCE_S,
    SESSION_S,
    ClassicMember,
    ConsumerMember,
    Member,
    Surroundings,
)
from dray.testing.group_sim.topics import OneTopic
from dray.testing.nodes import Node
from dray.testing.virtual_loop import run, virtual_loop

_STEP_SECONDS = 0.00002
_DOMAINS = 2
_REST_S = 4 * (SESSION_S + REBALANCE_S) + 20.0
_LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one seed."""

    seed: int
    violations: tuple[str, ...]
    lines: tuple[str, ...]
    commits: int
    crashes: int


def simulate(seed: int) -> Verdict:
    """Live through one seed."""
    world = _World(seed)
    return run(world.live(), seed=seed, step_seconds=_STEP_SECONDS, on_step=world.on_step)


class _World:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = Random(f"groups {seed}")
        self._crashes = 0
        self._doomed: dict[Node, int] = {}
        self._brokers: list[Broker] = []

    def on_step(self, node: Node | None) -> None:
        if node is None or node not in self._doomed:
            return
        self._doomed[node] -= 1
        if self._doomed[node] <= 0:
            del self._doomed[node]
            self._crashes += 1
            next(broker for broker in self._brokers if broker.node is node).crash()

    async def live(self) -> Verdict:
        choose, clock = self._random, VirtualClock(virtual_loop())
        server, topic = MemoryMetaServer(clock), OneTopic(choose.randint(1, 8))
        self._brokers = [
            Broker(number, self._seed, server, topic, self._limits())
            for number in range(1, choose.choice((1, 2, 3)) + 1)
        ]
        faults = self._faults()
        for broker in self._brokers:
            broker.faults = faults
            broker.boot()
        groups = [self._group(f"group{number}", topic, clock) for number in range(choose.randint(1, 2))]
        looking = asyncio.create_task(_look(server, clock, [around.ledger for around in groups]))
        lives = {member: asyncio.create_task(member.run()) for around in groups for member in around.members}
        await self._rage(groups, lives, topic, clock)
        self._calm()
        await clock.sleep(_REST_S)
        for around in groups:
            _check_rest(around)
        for task in (looking, *lives.values()):
            task.cancel()
        await asyncio.wait([looking, *lives.values()])
        return self._verdict([around.ledger for around in groups])

    async def _rage(
        self,
        groups: list[Surroundings],
        lives: dict[Member, "asyncio.Task[None]"],
        topic: OneTopic,
        clock: VirtualClock,
    ) -> None:
        choose = self._random
        for _ in range(choose.randint(5, 25)):
            await clock.sleep(choose.uniform(0.1, 2.0))
            around = choose.choice(groups)
            member = choose.choice(around.members)
            match choose.choice(("die", "leave", "crash", "crash", "stall", "boot", "grow")):
                case "die":
                    lives[member].cancel()
                    await asyncio.wait([lives[member]])
                    member.die()
                    lives[member] = asyncio.create_task(member.run())
                case "leave":
                    lives[member].cancel()
                    await asyncio.wait([lives[member]])
                    lives[member] = asyncio.create_task(
                        _leave_and_return(member, choose.uniform(0, 4), clock)
                    )
                case "crash":
                    self._doomed[choose.choice(self._brokers).node] = choose.randint(1, 200)
                case "stall":
                    broker = choose.choice(self._brokers)
                    broker.node.pause()
                    await clock.sleep(choose.choice((0.3, 2.0, 6.0)))
                    broker.node.resume()
                case "boot":
                    self._boot_the_dead()
                case "grow" if topic.partitions < 12:
                    topic.grow(1)

    def _calm(self) -> None:
        """Let everything work again, save one broker perhaps, which does not come back."""
        self._doomed.clear()
        if len(self._brokers) > 1 and self._random.random() < 0.5:
            gone = self._brokers.pop()
            gone.node.resume()
            gone.crash()
        for broker in self._brokers:
            broker.node.resume()
            broker.crash()  # its links go on being bad otherwise
            broker.faults = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)
            broker.boot()

    def _boot_the_dead(self) -> None:
        for broker in self._brokers:
            if not broker.node.alive:
                broker.boot()

    def _group(self, group_id: str, topic: OneTopic, clock: VirtualClock) -> Surroundings:
        around = Surroundings(self._brokers, clock, self._random, Ledger(group_id), lambda: topic.partitions)
        kind: type[Member] = self._random.choice((ClassicMember, ConsumerMember))
        around.members = [
            kind(f"{group_id}-{number}", around) for number in range(self._random.randint(1, 4))
        ]
        return around

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
        often = self._random.choice((0.0, 0.01, 0.05))
        return FaultyLinkSettings(refused=often, request_lost=often, answer_lost=often, late=often)

    def _verdict(self, ledgers: list[Ledger]) -> Verdict:
        violations = tuple(line for ledger in ledgers for line in ledger.violations)
        lines = tuple(line for ledger in ledgers for line in ledger.lines)
        return Verdict(self._seed, violations, lines, sum(one.commits for one in ledgers), self._crashes)


async def _leave_and_return(member: Member, seconds: float, clock: VirtualClock) -> None:
    with suppress(*AWAY):
        await member.leave()
    await clock.sleep(seconds)
    await member.run()


async def _look(server: MemoryMetaServer, clock: VirtualClock, ledgers: list[Ledger]) -> None:
    """Look at what is stored, again and again."""
    meta = MemoryMetaStore(server, DirectLink(), clock, SeededEntropy("look"), tasks=Tasks())
    while True:
        for ledger in ledgers:
            domain = group_domain(ledger.group_id, _DOMAINS)
            entry = await meta.get(domain, group_key(ledger.group_id))
            ledger.stored(None if entry is None else decode_group(entry.value))
        await clock.sleep(_LOOK_S)


def _check_rest(around: Surroundings) -> None:
    used = sorted(partition for member in around.members for partition in member.owned)
    if used != list(range(around.partitions())) and around.members:
        shares = {member.name: member.owned for member in around.members}
        around.ledger.complain(f"G5: of {around.partitions()} partitions these are used: {shares}")
