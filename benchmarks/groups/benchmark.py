"""Loads on consumer groups, their figures and bars.

Quiet groups: many groups of four members that only heartbeat, at the clients' default interval; the broker's
share of a core. Rebalance: one more member joins a large group; the broker's CPU time until every member has
its assignment. Both servers run the same loads, one after the other, on the same machine.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.beside_kafka.processes import cpu_seconds
from benchmarks.beside_kafka.servers import DRAY, KAFKA, PREPARE, Server, serving
from benchmarks.figures import Figure
from benchmarks.groups.members import ClassicMember, ConsumerMember, Wire
from dray.wire import ErrorCode
from dray.wire.apis.create_topics import (
    CREATE_TOPICS,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from dray.wire.apis.find_coordinator import (
    FIND_COORDINATOR,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

TOPIC: Final = "bench"
_COORDINATOR_S: Final = 60
_MEMBERS: Final = 4
_HEARTBEAT_S: Final = {"classic": 3.0, "consumer": 5.0}
"""Default heartbeat interval, by protocol."""
_QUIET_BAR: Final = 25.0
_REBALANCE_BAR_S: Final = 2.0
_AT_ONCE: Final = 50
_ASSIGNED_BYTES: Final = 60
"""Size of an assignment of ten partitions of one topic."""

Member = ClassicMember | ConsumerMember


@dataclass(frozen=True, slots=True)
class Scale:
    """Size of a run."""

    groups: int
    seconds: float
    members: int
    partitions: int


FULL: Final = Scale(groups=1_000, seconds=20, members=100, partitions=1_000)
QUICK: Final = Scale(groups=20, seconds=3, members=10, partitions=50)


def run(scale: Scale, servers: Sequence[str] = (DRAY, KAFKA)) -> Iterator[Figure]:
    """Measure each protocol on its own server: leftovers of one would cost the other."""
    for kind in _HEARTBEAT_S:
        for name in servers:
            with TemporaryDirectory() as folder, serving(PREPARE[name](Path(folder) / "server")) as server:
                yield from asyncio.run(_measure(server, scale, kind))


async def _measure(server: Server, scale: Scale, kind: str) -> list[Figure]:
    await _make_topic(server, scale.partitions)
    await _wait_for_coordinator(server)
    share = await _quiet(server, scale, kind)
    used = await _rebalance(server, scale, kind)
    quiet = f"{server.name}: {scale.groups} quiet groups of {_MEMBERS}, {kind}"
    rebalance = f"{server.name}: rebalance, {scale.members} members, {scale.partitions} partitions, {kind}"
    bars = server.name == DRAY
    return [
        Figure(quiet, share, "% of a core", _QUIET_BAR if bars else None, at_most=True),
        Figure(rebalance, used, "s of CPU", _REBALANCE_BAR_S if bars else None, at_most=True),
    ]


async def _make_topic(server: Server, partitions: int) -> None:
    wire = await Wire.open(server.address)
    topic = CreatableTopic(name=TOPIC, num_partitions=partitions, replication_factor=1)
    await wire.ask(
        CREATE_TOPICS, CreateTopicsRequest(topics=[topic], timeout_ms=60_000), CreateTopicsResponse
    )
    wire.close()


async def _wait_for_coordinator(server: Server) -> None:
    """Wait for the coordinator as clients do: Kafka first has to create its offsets topic."""
    wire = await Wire.open(server.address)
    async with asyncio.timeout(_COORDINATOR_S):
        while True:
            request = FindCoordinatorRequest(coordinator_keys=["any"])
            answer = await wire.ask(FIND_COORDINATOR, request, FindCoordinatorResponse)
            if answer.coordinators[0].error_code == ErrorCode.NONE:
                break
            await asyncio.sleep(0.2)
    wire.close()


async def _quiet(server: Server, scale: Scale, kind: str) -> float:
    """Return the share of a core that the server uses while groups only heartbeat."""
    interval = _HEARTBEAT_S[kind]
    groups = [f"quiet-{kind}-{number}" for number in range(scale.groups)]
    members: list[Member] = []
    for start in range(0, len(groups), _AT_ONCE):
        made = [await _member(server, kind, name) for name in groups[start : start + _AT_ONCE] * _MEMBERS]
        await asyncio.gather(*(member.enter() for member in made))
        members += made
    await _settle(members)
    heartbeats = [
        asyncio.create_task(_heartbeat_forever(member, interval, number * interval / len(members)))
        for number, member in enumerate(members)
    ]
    await asyncio.sleep(min(2 * interval, scale.seconds))
    before, began = cpu_seconds(server.pid), time.monotonic()
    await asyncio.sleep(scale.seconds)
    used, took = cpu_seconds(server.pid) - before, time.monotonic() - began
    for task in heartbeats:
        task.cancel()
    await asyncio.wait(heartbeats)
    for member in members:
        member.wire.close()
    return 100 * used / took


async def _heartbeat_forever(member: Member, interval: float, after: float) -> None:
    await asyncio.sleep(after)
    while True:
        began = time.monotonic()
        await member.heartbeat()
        await asyncio.sleep(max(0.0, interval - (time.monotonic() - began)))


async def _rebalance(server: Server, scale: Scale, kind: str) -> float:
    """Return the CPU time from when one more member joins until every member has its assignment."""
    group_id = f"many-{kind}"
    members = [await _member(server, kind, group_id) for _ in range(scale.members)]
    await asyncio.gather(*(member.enter() for member in members))
    await _settle(members)
    before = cpu_seconds(server.pid)
    newcomer = await _member(server, kind, group_id)
    all_members = [*members, newcomer]
    if kind == "classic":
        await asyncio.gather(*(member.enter() for member in all_members))
    else:
        await newcomer.enter()
        await _settle(all_members, scale.partitions)
    used = cpu_seconds(server.pid) - before
    for member in all_members:
        member.wire.close()
    return used


async def _settle(members: Sequence[Member], partitions: int | None = None) -> None:
    """Heartbeat until all partitions are assigned and nothing changes any more."""
    consumers = [member for member in members if isinstance(member, ConsumerMember)]
    seen: tuple[int, ...] = ()
    calm = 0
    while consumers and calm < 3:
        await asyncio.sleep(0.3)
        await asyncio.gather(*(member.heartbeat() for member in consumers))
        now = tuple(number for member in consumers for number in (member.epoch, member.partitions))
        given = sum(member.partitions for member in consumers)
        calm = calm + 1 if now == seen and partitions in (None, given) else 0
        seen = now


async def _member(server: Server, kind: str, group_id: str) -> Member:
    wire = await Wire.open(server.address)
    if kind == "classic":
        return ClassicMember(wire, group_id, bytes(_ASSIGNED_BYTES))
    return ConsumerMember(wire, group_id, TOPIC)
