"""Sessions: a key that exists as long as its owner is alive, and a sweep that deletes what it owned.

Oxia's own ephemeral keys vanish by themselves, at any moment, also between the two requests of a
transaction that replaces them; and a put of one can fail when the transaction is already decided. So ours
are ordinary keys, which only transactions change. What Oxia's session keeps alive is one key, `s<session>`,
in one shard, whatever the number of domains that the session is used in. It exists from the opening of the
session until its end, and never again, because its name is unique.

A commit with an ephemeral put first reads that key. Every process regularly lists the ephemeral keys of all
shards, and deletes those of sessions that have ended, in transactions: so a domain sees the end of a
session at one moment, before or after each commit. A commit that read the key just before the session ended
may still create an ephemeral key; the next sweep deletes it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from dray.ids import Domain
from dray.meta.leased_session import LeasedSession, SessionCalls
from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.client import NO_VERSION
from dray.meta.oxia.commits import Context
from dray.meta.oxia.errors import StoreClosed
from dray.meta.oxia.keys import EPHEMERAL_KEYS, ephemeral_range, head_key, parse_ephemeral_key, session_key
from dray.meta.oxia.plan import SweepRequest
from dray.meta.port import MetaError, SessionId, Unavailable
from dray.observe import get_logger

_log = get_logger("meta")
_SWEPT_AT_ONCE = 500
Sweep = Callable[[Domain, SweepRequest], Awaitable[object]]


@dataclass(slots=True)
class _Opened:
    shard: int
    oxia_session: int
    ttl_ms: int
    leased: LeasedSession | None = None
    domains: set[Domain] = field(default_factory=set)
    """Where the session was used in commits."""


class Sessions:
    """The sessions of this process, and the sweep of all processes' sessions."""

    def __init__(self, context: Context, sweep: Sweep) -> None:
        self._context = context
        self._client = context.client
        self._sweep = sweep
        self._opened: dict[SessionId, _Opened] = {}

    async def open(self, ttl_ms: int) -> LeasedSession:
        settings = self._context.settings
        ttl_ms = max(settings.session_ttl_min_ms, min(ttl_ms, settings.session_ttl_max_ms))
        leased = await self._context.with_retries(lambda: self._open_once(ttl_ms))
        leased.start(self._context.tasks)
        return leased

    def used(self, session: SessionId, domain: Domain) -> None:
        """Remember a domain to sweep when a session of this process is closed."""
        if session in self._opened:
            self._opened[session].domains.add(domain)

    async def close(self) -> None:
        """End all sessions; those that the store does not answer for expire."""
        for session, opened in list(self._opened.items()):
            if opened.leased is not None:
                opened.leased.invalidate()
            try:
                await self._end_once(session)
            except MetaError:
                return

    async def sweep_ended(self) -> None:
        """Delete the ephemeral keys of all sessions that have ended."""
        try:
            for shard in await self._client.shards():
                await self._sweep_shard(shard)
        except MetaError as error:
            _log.debug("session_sweep_failed", error=str(error))

    async def _open_once(self, ttl_ms: int) -> LeasedSession:
        """Open a session. After a failure its name is never used again, and what may exist of it expires."""
        session = SessionId(self._context.entropy.token(16).hex())
        name = session_key(session)
        opened_at = self._context.clock.monotonic()
        shard = await self._client.shard_of(name)
        oxia_session = await self._client.create_session(shard, ttl_ms)
        put = api.PutRequest(
            key=name, expected_version_id=NO_VERSION, session_id=oxia_session, partition_key=name
        )
        (created,) = (await self._client.write(shard, api.WriteRequest(puts=[put]))).puts
        if created.status != api.OK:
            raise Unavailable(f"session {session} ended while it was opened")
        opened = _Opened(shard, oxia_session, ttl_ms)
        calls = SessionCalls(self._renew, self._end)
        opened.leased = LeasedSession(session, ttl_ms, opened_at, self._context.clock, calls)
        self._opened[session] = opened
        return opened.leased

    async def _renew(self, session: SessionId) -> bool:
        opened = self._opened[session]
        return await self._client.keep_alive(opened.shard, opened.oxia_session, opened.ttl_ms / 3000)

    async def _end(self, session: SessionId) -> None:
        try:
            await self._context.with_retries(lambda: self._end_once(session))
        except StoreClosed as error:
            raise Unavailable("the metadata store is closed; the session expires") from error

    async def _end_once(self, session: SessionId) -> None:
        """End a session, then delete its keys: no commit can use it in between."""
        opened = self._opened.get(session)
        if opened is None:
            return
        await self._client.close_session(opened.shard, opened.oxia_session)
        for domain in sorted(opened.domains):
            shard = await self._client.shard_of(head_key(domain))
            names = await self._client.list(shard, *ephemeral_range(domain, session))
            await self._delete(domain, session, [parse_ephemeral_key(name)[2] for name in names])
        self._opened.pop(session, None)

    async def _sweep_shard(self, shard: int) -> None:
        owned: dict[SessionId, dict[Domain, list[str]]] = {}
        for name in await self._client.list(shard, *EPHEMERAL_KEYS):
            domain, session, key = parse_ephemeral_key(name)
            owned.setdefault(session, {}).setdefault(domain, []).append(key)
        for session, domains in owned.items():
            if await self._context.has_ended(session):
                for domain, keys in domains.items():
                    _log.info("session_swept", session=session, domain=domain, keys=len(keys))
                    await self._delete(domain, session, keys)

    async def _delete(self, domain: Domain, session: SessionId, keys: list[str]) -> None:
        for start in range(0, len(keys), _SWEPT_AT_ONCE):
            await self._sweep(domain, SweepRequest(session, tuple(keys[start : start + _SWEPT_AT_ONCE])))
