"""Sessions as leases of etcd, renewed through the same endpoints as everything else.

The server may grant a longer time to live than requested; its answer counts. A renewal is one short attempt,
so that several fit into the time to live when a member does not answer.
"""

from contextlib import suppress
from functools import partial
from typing import Final

from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import KEEP_ALIVE, LEASE_GRANT, LEASE_REVOKE
from dray.meta.etcd.endpoints import Endpoints
from dray.meta.leased_session import LeasedSession, SessionCalls
from dray.meta.port import SessionExpired, SessionId, Unavailable
from dray.runtime import Clock, Tasks

_RENEWALS_PER_TTL: Final = 6
_ATTEMPT_S_MIN: Final = 0.4
_CLOSE_S: Final = 1.0
_LEASE_MAX: Final = 2**63 - 1


def session_of(lease: int) -> SessionId:
    return SessionId(f"{lease:016x}")


def lease_of(session: SessionId) -> int:
    """Return the lease of a session; raises `SessionExpired` for an id that no lease can have."""
    try:
        lease = int(session, 16)
    except ValueError:
        lease = 0
    if not 0 < lease <= _LEASE_MAX:
        raise SessionExpired(f"session {session} is unknown; open a new one")
    return lease


class Sessions:
    """The sessions of one client."""

    def __init__(self, endpoints: Endpoints, clock: Clock, tasks: Tasks, attempt_ms: float) -> None:
        self._endpoints = endpoints
        self._clock = clock
        self._tasks = tasks
        self._attempt_s = attempt_ms / 1000
        self._open: dict[SessionId, LeasedSession] = {}

    async def open(self, ttl_ms: int) -> LeasedSession:
        request = api.LeaseGrantRequest(TTL=-(-ttl_ms // 1000))

        async def attempt() -> tuple[float, api.LeaseGrantResponse]:
            return self._clock.monotonic(), await self._endpoints.call(LEASE_GRANT, request)

        requested_at, granted = await self._endpoints.retried(attempt)
        session = session_of(granted.ID)
        attempt_s = min(self._attempt_s, max(_ATTEMPT_S_MIN, granted.TTL / _RENEWALS_PER_TTL))
        calls = SessionCalls(partial(self._renew, attempt_s), self._end)
        leased = LeasedSession(session, granted.TTL * 1000, requested_at, self._clock, calls)
        self._open[session] = leased
        leased.start(self._tasks)
        return leased

    async def close(self) -> None:
        """End all sessions; if etcd does not answer, they expire."""
        for leased in self._open.values():
            leased.invalidate()
        with suppress(Unavailable):
            for session in list(self._open):
                with suppress(SessionExpired):
                    await self._endpoints.call(LEASE_REVOKE, _revoke(session), timeout_s=_CLOSE_S)

    async def _renew(self, attempt_s: float, session: SessionId) -> bool:
        request = api.LeaseKeepAliveRequest(ID=lease_of(session))
        response = await self._endpoints.call(KEEP_ALIVE, request, timeout_s=attempt_s)
        return response.TTL > 0

    async def _end(self, session: SessionId) -> None:
        with suppress(SessionExpired):
            await self._endpoints.repeat(LEASE_REVOKE, _revoke(session))
        self._open.pop(session, None)


def _revoke(session: SessionId) -> api.LeaseRevokeRequest:
    return api.LeaseRevokeRequest(ID=lease_of(session))
