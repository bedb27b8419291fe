"""Embedded broker: a real broker inside this process, for tests and notebooks.

    with dray.testing.broker() as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap})

It listens on a free port, by default stores everything in memory, and stops at the end of the block. It has
its own thread and event loop, so it works under pytest, in a notebook and beside other loops.
"""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from dray.cluster.addresses import Address
from dray.server.broker import running_broker
from dray.server.stores import process_context
from dray.settings import DraySettings, load_settings

_IN_MEMORY = {
    "broker.listen": "127.0.0.1:0",
    "broker.http": "127.0.0.1:0",
    "metadata.url": "memory:",
    "storage.url": "memory:",
}


@dataclass(frozen=True, slots=True)
class EmbeddedBroker:
    """A running broker."""

    host: str
    port: int
    http: str
    """Address of the HTTP endpoint with health and metrics."""
    cluster_id: str
    listeners: Mapping[str, str] = field(default_factory=dict)
    """The address of each listener by its name, for brokers with several (`broker.listen`)."""

    @property
    def bootstrap(self) -> str:
        """Address for the client setting bootstrap.servers."""
        return f"{self.host}:{self.port}"


@contextmanager
def broker(settings: Mapping[str, str] | None = None) -> Iterator[EmbeddedBroker]:
    """Run a broker until the block ends.

    `settings` are keys of docs/SETTINGS.md with their values as text.
    """
    pairs = tuple(f"{key}={value}" for key, value in {**_IN_MEMORY, **(settings or {})}.items())
    thread = _BrokerThread(load_settings(None, {}, {}, pairs).settings)
    thread.start()
    try:
        yield thread.wait_until_up()
    finally:
        thread.stop()


class _BrokerThread(threading.Thread):
    """A thread with an event loop that runs one broker."""

    def __init__(self, settings: DraySettings) -> None:
        super().__init__(name="dray-broker", daemon=True)
        self._settings = settings
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_requested: asyncio.Event | None = None
        self._up: EmbeddedBroker | None = None
        self._failure: BaseException | None = None

    def wait_until_up(self) -> EmbeddedBroker:
        self._ready.wait()
        if self._up is None:
            assert self._failure is not None
            raise self._failure
        return self._up

    def stop(self) -> None:
        if self._loop is not None and self._stop_requested is not None and self.is_alive():
            self._loop.call_soon_threadsafe(self._stop_requested.set)
        self.join()

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - raised in the thread that started this one
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stop_requested = asyncio.get_running_loop(), asyncio.Event()
        async with running_broker(self._settings, process_context()) as running:
            self._up = EmbeddedBroker(
                running.info.host,
                running.info.port,
                running.http,
                running.services.cluster_id,
                {one.name: str(Address(one.host, one.port)) for one in running.info.listeners},
            )
            self._ready.set()
            await self._stop_requested.wait()
