"""Scripted broker: gives a client answers that a healthy broker does not give."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from dray.client import Admin, ClientConfig
from dray.cluster.addresses import Address
from dray.wire import LENGTH_BYTES, Message, api_of, decode_request, encode_response, peek
from dray.wire.apis.api_versions import API_VERSIONS, ApiVersion, ApiVersionsResponse
from dray.wire.apis.fetch import FETCH
from dray.wire.apis.init_producer_id import INIT_PRODUCER_ID, InitProducerIdResponse
from dray.wire.apis.metadata import (
    METADATA,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from dray.wire.apis.produce import PRODUCE

TOPIC = "scripted"
BROKER_ID = 7
HANG_UP = "hang up"
"""Close the connection instead of answering."""

Say = Message | str | None
"""An answer, `HANG_UP`, or None for no answer."""
Script = Callable[[Message], Say]


class ScriptedBroker:
    """Answers by script, API by API, and keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[Message] = []
        # librdkafka speaks the current batch format only to brokers with new versions of both.
        self.versions = {api.key: (api.lowest, api.highest) for api in (PRODUCE, FETCH)}
        self._scripts: dict[int, Script] = {}
        self._port = 0
        self._writers: list[asyncio.StreamWriter] = []
        self.on(API_VERSIONS.key, lambda _: self._api_versions())
        self.on(METADATA.key, lambda _: metadata_of(self.address))
        self.on(INIT_PRODUCER_ID.key, lambda _: InitProducerIdResponse(producer_id=5, producer_epoch=0))

    @property
    def address(self) -> Address:
        return Address("127.0.0.1", self._port)

    def on(self, api_key: int, script: Script) -> None:
        """Answer an API by calling `script`."""
        self._scripts[api_key] = script
        api = api_of(api_key)
        self.versions.setdefault(api_key, (api.lowest, api.highest))

    def on_each(self, api_key: int, answers: Sequence[Say]) -> None:
        """Answer an API with these, one after the other; the last one is repeated."""
        left = deque(answers)
        self.on(api_key, lambda _: left.popleft() if len(left) > 1 else left[0])

    def count(self, kind: type[Message]) -> int:
        return sum(isinstance(one, kind) for one in self.requests)

    @contextmanager
    def running(self) -> Iterator["ScriptedBroker"]:
        """Serve in a thread with an event loop of its own."""
        loop, ready = asyncio.new_event_loop(), threading.Event()
        thread = threading.Thread(target=self._run, args=(loop, ready), name="scripted-broker")
        thread.start()
        assert ready.wait(30)
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _run(self, loop: asyncio.AbstractEventLoop, ready: threading.Event) -> None:
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self._port = server.sockets[0].getsockname()[1]
        ready.set()
        loop.run_forever()
        server.close()
        while tasks := asyncio.all_tasks(loop):  # one may be a connection that is only being accepted
            for writer in self._writers:
                writer.close()
            loop.run_until_complete(asyncio.wait(tasks, timeout=0.1))
        loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        try:
            while True:
                length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
                frame = await reader.readexactly(length)
                key, version, correlation_id = peek(frame)
                _, request = decode_request(frame)
                self.requests.append(request)
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
            with suppress(OSError):
                await writer.wait_closed()

    def _api_versions(self) -> ApiVersionsResponse:
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=key, min_version=lowest, max_version=highest)
                for key, (lowest, highest) in self.versions.items()
            ]
        )


def metadata_of(address: Address, error_code: int = 0) -> MetadataResponse:
    """Metadata of one topic with one partition, led by the one broker at `address`."""
    partition = MetadataResponsePartition(partition_index=0, leader_id=BROKER_ID)
    partitions = [] if error_code else [partition]
    return MetadataResponse(
        cluster_id="scripted",
        controller_id=BROKER_ID,
        brokers=[MetadataResponseBroker(node_id=BROKER_ID, host=address.host, port=address.port)],
        topics=[MetadataResponseTopic(name=TOPIC, error_code=error_code, partitions=partitions)],
    )


@contextmanager
def scripted(broker: ScriptedBroker, timeout_s: float = 10.0) -> Iterator[Admin]:
    """Run a scripted broker and connect to it."""
    with broker.running():
        yield Admin.connect(ClientConfig(str(broker.address), timeout_s))
