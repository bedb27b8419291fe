"""Recording of transcripts: plays scenarios on a real Apache Kafka.

Scenarios of one profile share a broker and are played concurrently; each has its own groups and topics.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

from dray.runtime import SystemClock
from dray.wire import ErrorCode
from dray.wire.apis.find_coordinator import FindCoordinatorRequest
from dray.wire.apis.heartbeat import HeartbeatRequest
from tests.groups.golden.profiles import kafka_settings
from tests.groups.golden.registry import GoldenScenario
from tests.groups.golden.script import NO_ANSWER, Script
from tests.oracle.kafka import Kafka, serve

CONCURRENT: Final = 8
_POLL_S: Final = 0.1


class SocketExchange:
    """A request on its own connection."""

    def __init__(self, address: tuple[str, int], frame: bytes) -> None:
        self._task = asyncio.create_task(_exchange(address, frame))

    @property
    def done(self) -> bool:
        return self._task.done()

    async def result(self, timeout_s: float) -> bytes:
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(self._task)

    def hang_up(self) -> None:
        self._task.cancel()


class KafkaBackend:
    """A broker at a socket, in real time."""

    def __init__(self, kafka: Kafka) -> None:
        self.clock = SystemClock()
        self._address = kafka.address

    def send(self, frame: bytes, client_name: str) -> SocketExchange:
        return SocketExchange(self._address, frame)


async def _exchange(address: tuple[str, int], frame: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(len(frame).to_bytes(4, "big") + frame)
        return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    finally:
        writer.close()


def record(profile: str, scenarios: Sequence[GoldenScenario], directory: Path) -> dict[str, str]:
    """Start a broker and play the scenarios on it; returns the transcripts by scenario name."""
    with serve(directory, kafka_settings(profile)) as kafka:
        return asyncio.run(_record(KafkaBackend(kafka), scenarios))


async def _record(backend: KafkaBackend, scenarios: Sequence[GoldenScenario]) -> dict[str, str]:
    await _await_coordinator(backend)
    slots = asyncio.Semaphore(CONCURRENT)

    async def play(scenario: GoldenScenario) -> str:
        async with slots:
            text = await scenario.play(backend, uuid4().hex[:8])
        assert NO_ANSWER not in text, f"{scenario.name} gets no response:\n{text}"
        return text

    texts = await asyncio.gather(*map(play, scenarios), return_exceptions=True)
    failures = [text for text in texts if isinstance(text, BaseException)]
    if failures:
        raise BaseExceptionGroup("scenarios that failed", failures)
    return {
        scenario.name: text for scenario, text in zip(scenarios, texts, strict=True) if isinstance(text, str)
    }


async def _await_coordinator(backend: KafkaBackend) -> None:
    """Wait until Kafka has created and loaded its internal topic, which the first group request triggers."""
    script = Script(backend, "warming-up")
    await script.send_unrecorded(FindCoordinatorRequest(coordinator_keys=["any"]))
    probe = HeartbeatRequest(group_id="any", member_id="any")
    while (await script.send_unrecorded(probe)).error_code != ErrorCode.UNKNOWN_MEMBER_ID:
        await backend.clock.sleep(_POLL_S)
