"""Live brokers, registered as ephemeral keys in the metadata store.

Each broker writes one key that disappears with its session. All brokers watch these keys, so each sees the
others with a short delay. A broker that loses its session, because it stalled or the store was unavailable,
opens a new one and registers again. A broker that shuts down removes its key first.

During a rolling upgrade brokers of two versions read each other's registrations. A decoder ignores elements
that it does not know and uses the default of those that are missing, so fields are only ever appended, each
with a default, and the tag stays.
"""

import asyncio
from contextlib import suppress
from typing import Final

import msgspec

from dray.cluster.view import Directory, View
from dray.index.stored import decoded
from dray.keyspace import BROKERS_PREFIX, CLUSTER_DOMAIN, broker_key, brokers_range
from dray.meta.port import ABSENT, Check, Conflict, Entry, MetaError, MetaStore, Put, Session
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

_RETRY_S = 1.0
_log = get_logger("cluster")


class Endpoint(msgspec.Struct, frozen=True, array_like=True):
    """An address at which clients reach a broker, by the name of its listener."""

    name: str
    host: str
    port: int


class BrokerInfo(msgspec.Struct, frozen=True, array_like=True, tag="b1"):
    """The registration of a broker."""

    broker_id: int
    host: str
    port: int
    zone: str | None
    started_at_ms: int
    version: str
    listeners: tuple[Endpoint, ...] = ()
    """All endpoints, the first at `host` and `port`; empty in registrations of builds that had only one."""

    def endpoint(self, listener: str) -> Endpoint | None:
        """Return the address for clients of a listener, if the broker has that listener."""
        endpoints = self.listeners or (Endpoint(PLAINTEXT, self.host, self.port),)
        return next((one for one in endpoints if one.name == listener), None)


PLAINTEXT: Final = "PLAINTEXT"
"""The name of the listener without TLS and authentication, as in Kafka."""


class BrokerIdTaken(Exception):
    """Another live process has this broker id."""


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(BrokerInfo)


def decode_broker(entry: Entry) -> BrokerInfo:
    return decoded(_decoder, entry.key, entry.value, "a broker")


class LiveBrokers(View[BrokerInfo]):
    """The registered brokers."""

    def __init__(self, meta: MetaStore, clock: Clock) -> None:
        directory = Directory(CLUSTER_DOMAIN, BROKERS_PREFIX, brokers_range(), decode_broker)
        super().__init__(meta, directory, clock)

    def all(self) -> list[BrokerInfo]:
        """Return them by id."""
        return sorted(self.values(), key=lambda broker: broker.broker_id)

    def others(self, broker_id: int) -> list[BrokerInfo]:
        """Return all but one, by id."""
        return [broker for broker in self.all() if broker.broker_id != broker_id]


class Registration:
    """Keeps this process registered from `start` to `stop`."""

    def __init__(self, meta: MetaStore, info: BrokerInfo, *, ttl_ms: int, clock: Clock) -> None:
        self._meta = meta
        self._info = info
        self._ttl_ms = ttl_ms
        self._clock = clock
        self._session: Session | None = None
        self._keeping: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether other brokers consider this process alive; false once they may have taken over its work."""
        return self._session is not None and self._session.alive

    async def start(self, tasks: Tasks) -> None:
        """Register; replaces an earlier process at this address, and waits for the session of any other."""
        self._session = await self._register()
        self._keeping = tasks.start(self._keep_registered(), name="registration")

    async def stop(self) -> None:
        """Remove the broker's key; if the store is unavailable, it disappears when the session expires.

        A call after one that was cancelled completes it; another one has no effect.
        """
        if self._keeping is not None:  # first, or it would treat the closed session as lost
            self._keeping.cancel()
            await asyncio.wait([self._keeping])
        if self._session is not None:
            with suppress(MetaError):
                await self._session.close()
            self._session = None

    async def _keep_registered(self) -> None:
        while True:
            assert self._session is not None
            await self._session.wait_lost()
            try:
                self._session = await self._register()
            except (MetaError, BrokerIdTaken) as error:
                _log.warning("registration_failed", broker=self._info.broker_id, error=str(error))
                await self._clock.sleep(_RETRY_S)

    async def _register(self) -> Session:
        session = await self._meta.session(self._ttl_ms)
        try:
            await self._take_key(session)
        except BaseException:
            # If the outcome is unknown, the session may hold the key, and would block the next attempt.
            with suppress(MetaError):
                await session.close()
            raise
        return session

    async def _take_key(self, session: Session) -> None:
        deadline = self._clock.monotonic() + 2 * self._ttl_ms / 1000
        key = broker_key(self._info.broker_id)
        put = Put(key, _encoder.encode(self._info), session.id)
        while not await self._try_key(key, put):
            if self._clock.monotonic() > deadline:
                raise BrokerIdTaken(
                    f"broker id {self._info.broker_id} is in use by another process of this cluster; "
                    "stop that one, or choose another --broker-id"
                )
            await self._clock.sleep(min(_RETRY_S, self._ttl_ms / 4000))

    async def _try_key(self, key: str, put: Put) -> bool:
        """Take the key if it is free, or held by an earlier process at this address."""
        held = await self._meta.get(CLUSTER_DOMAIN, key)
        if held is not None and not self._is_predecessor(decode_broker(held)):
            return False
        check = Check(key, ABSENT if held is None else held.version)
        return not isinstance(await self._meta.commit(CLUSTER_DOMAIN, [check], [put]), Conflict)

    def _is_predecessor(self, held: BrokerInfo) -> bool:
        """Return whether the holder must be dead, because this process has its address now."""
        return (held.host, held.port) == (self._info.host, self._info.port)
