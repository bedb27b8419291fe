"""A broker that says what a test wants: for the answers that a healthy one does not give."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from dray.cli.addresses import Address
from dray.cli.client import ClientParts, Cluster
from dray.runtime import SeededEntropy, SystemClock, Tasks
from dray.wire import Message, api_of, decode_request, encode_response, frame_length, peek
from dray.wire.apis.api_versions import API_VERSIONS, ApiVersion, ApiVersionsResponse
from dray.wire.apis.init_producer_id import INIT_PRODUCER_ID, InitProducerIdResponse
from dray.wire.apis.metadata import (
    METADATA,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

TOPIC = "scripted"
BROKER_ID = 7
HANG_UP = "hang up"
"""Instead of an answer, close the connection."""

Say = Message | str | None
"""An answer, `HANG_UP`, or None for silence."""
Script = Callable[[Message], Say]


class ScriptedBroker:
    """Answers by script, API by API; what it was asked is kept."""

    def __init__(self) -> None:
        self.asked: list[Message] = []
        self.versions: dict[int, tuple[int, int]] = {}
        self._scripts: dict[int, Script] = {}
        self._port = 0
        self._serving: set[asyncio.Task[None]] = set()
        self.on(API_VERSIONS.key, lambda _: self._api_versions())
        self.on(METADATA.key, lambda _: self._metadata())
        self.on(INIT_PRODUCER_ID.key, lambda _: InitProducerIdResponse(producer_id=5, producer_epoch=0))

    @property
    def address(self) -> Address:
        return Address("127.0.0.1", self._port)

    def on(self, api_key: int, script: Script) -> None:
        """Answer an API by calling this."""
        self._scripts[api_key] = script
        api = api_of(api_key)
        self.versions.setdefault(api_key, (api.lowest, api.highest))

    def on_each(self, api_key: int, answers: Sequence[Say]) -> None:
        """Answer an API with these, one after the other; the last one for ever."""
        left = deque(answers)
        self.on(api_key, lambda _: left.popleft() if len(left) > 1 else left[0])

    def requests(self, kind: type[Message]) -> int:
        return sum(isinstance(one, kind) for one in self.asked)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["ScriptedBroker"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            if self._serving:
                await asyncio.wait(self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        me = asyncio.current_task()
        assert me is not None
        self._serving.add(me)
        try:
            while True:
                frame = await reader.readexactly(frame_length(await reader.readexactly(4)))
                key, version, correlation_id = peek(frame)
                _, request = decode_request(frame)
                self.asked.append(request)
                say = self._scripts[key](request)
                if isinstance(say, str):
                    return
                if say is not None:
                    writer.writelines(
                        memoryview(part)
                        for part in encode_response(api_of(key), version, correlation_id, say)
                    )
        except (asyncio.IncompleteReadError, OSError):
            return
        finally:
            writer.close()

    def _api_versions(self) -> ApiVersionsResponse:
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=key, min_version=lowest, max_version=highest)
                for key, (lowest, highest) in self.versions.items()
            ]
        )

    def _metadata(self) -> MetadataResponse:
        return metadata_of(self.address)


def metadata_of(address: Address, error_code: int = 0) -> MetadataResponse:
    """Metadata of one topic with one partition, led by the one broker."""
    partition = MetadataResponsePartition(partition_index=0, leader_id=BROKER_ID)
    partitions = [] if error_code else [partition]
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=BROKER_ID, host=address.host, port=address.port)],
        topics=[MetadataResponseTopic(name=TOPIC, error_code=error_code, partitions=partitions)],
    )


@asynccontextmanager
async def scripted_cluster(broker: ScriptedBroker, timeout_s: float = 10.0) -> AsyncIterator[Cluster]:
    """Run a scripted broker and a client that knows it."""
    tasks = Tasks()
    async with broker.running():
        cluster = Cluster([broker.address], ClientParts(SystemClock(), SeededEntropy(1), tasks, timeout_s))
        try:
            yield cluster
        finally:
            await cluster.close()
            await tasks.stop()
            assert tasks.failures == 0
