"""The brokers that are alive, as ephemeral keys in the metadata store.

Each broker writes one key that disappears with its session. All of them watch these keys, so each knows the
others a moment later. A broker whose session was lost (it stalled, or the store was away) opens a new one
and registers again by itself.
"""

import asyncio
from contextlib import suppress

import msgspec

from dray.cluster.keys import BROKERS_PREFIX, CLUSTER_DOMAIN, broker_key, brokers_range
from dray.cluster.stored import decoded
from dray.cluster.view import Directory, View
from dray.meta.port import ABSENT, Check, Conflict, Entry, MetaError, MetaStore, Put, Session
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

_RETRY_SECONDS = 1.0
_log = get_logger("cluster")


class BrokerInfo(msgspec.Struct, frozen=True, array_like=True, tag="b1"):
    """What a broker tells of itself."""

    broker_id: int
    host: str
    port: int
    zone: str | None
    started_at_ms: int
    version: str


class BrokerIdTaken(Exception):
    """Another live process has this broker id."""


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(BrokerInfo)


def decode_broker(entry: Entry) -> BrokerInfo:
    return decoded(_decoder, entry, "a broker")


class LiveBrokers(View[BrokerInfo]):
    """The brokers that are registered now, by id."""

    def __init__(self, meta: MetaStore, clock: Clock) -> None:
        directory = Directory(CLUSTER_DOMAIN, BROKERS_PREFIX, brokers_range(), decode_broker)
        super().__init__(meta, directory, clock)

    def all(self) -> list[BrokerInfo]:
        return sorted(self.values(), key=lambda broker: broker.broker_id)


class Registration:
    """Keeps this process registered from `start` to `stop`."""

    def __init__(self, meta: MetaStore, info: BrokerInfo, *, ttl_ms: int, clock: Clock) -> None:
        self._meta = meta
        self._info = info
        self._ttl_ms = ttl_ms
        self._clock = clock
        self._session: Session | None = None
        self._staying: asyncio.Task[None] | None = None

    async def start(self, tasks: Tasks) -> None:
        """Register, in place of a process that had our address before; others' sessions are waited out."""
        self._session = await self._register()
        self._staying = tasks.start(self._stay(), name="registration")

    async def stop(self) -> None:
        """Take the broker's key away; where the store does not take that now, it goes with the session."""
        if self._staying is not None:  # first, or it would take the closed session for a lost one
            self._staying.cancel()
            await asyncio.wait([self._staying])
        if self._session is not None:
            with suppress(MetaError):
                await self._session.close()

    async def _stay(self) -> None:
        while True:
            assert self._session is not None
            await self._session.wait_lost()
            try:
                self._session = await self._register()
            except (MetaError, BrokerIdTaken) as error:
                _log.warning("not_registered", broker=self._info.broker_id, error=str(error))
                await self._clock.sleep(_RETRY_SECONDS)

    async def _register(self) -> Session:
        session = await self._meta.session(self._ttl_ms)
        try:
            await self._take_key(session)
        except BaseException:
            # It may hold the key, if the outcome is unknown: it must not live on and bar the way.
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
                    "stop that one, or give this one another --broker-id"
                )
            await self._clock.sleep(min(_RETRY_SECONDS, self._ttl_ms / 4000))

    async def _try_key(self, key: str, put: Put) -> bool:
        """Take the key if nobody has it, or only a process that was here before us."""
        held = await self._meta.get(CLUSTER_DOMAIN, key)
        if held is not None and not self._is_predecessor(decode_broker(held)):
            return False
        check = Check(key, ABSENT if held is None else held.version)
        return not isinstance(await self._meta.commit(CLUSTER_DOMAIN, [check], [put]), Conflict)

    def _is_predecessor(self, held: BrokerInfo) -> bool:
        """Whether the holder must be dead: this process has its address now."""
        return (held.host, held.port) == (self._info.host, self._info.port)
