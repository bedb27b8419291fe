"""Authentication tokens: requested when needed, and again when a server does not know one.

A token of etcd expires after some minutes without use, and with the restart of its members. Concurrent
callers share one request for a new one.
"""

import asyncio
from typing import Final

import grpc.aio

from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import AUTHENTICATE, Connection, Headers
from dray.meta.etcd.settings import EtcdAccess

_REQUIRE_LEADER: Final = ("hasleader", "true")
"""A member without a leader refuses at once, so that another one is asked."""
_NOT_ENABLED: Final = "etcdserver: authentication is not enabled"
_NO_TOKEN: Final = ""


class Authentication:
    """The headers of calls, with a token if there are credentials."""

    def __init__(self, access: EtcdAccess) -> None:
        self._username = access.username
        self._password = access.password or ""
        self._token: str | None = _NO_TOKEN if access.username is None else None
        self._one_at_a_time = asyncio.Lock()

    async def headers(self, connection: Connection, timeout_s: float) -> Headers:
        """Return the headers of a call; raises `grpc.aio.AioRpcError`."""
        if self._token is None:
            async with self._one_at_a_time:
                if self._token is None:
                    self._token = await self._authenticate(connection, timeout_s)
        return (_REQUIRE_LEADER, ("token", self._token)) if self._token else (_REQUIRE_LEADER,)

    def forget(self, headers: Headers) -> None:
        """Drop the token of these headers, unless there is a newer one; the next call requests another."""
        used = dict(headers).get("token", _NO_TOKEN)
        if self._username is not None and self._token == used:
            self._token = None

    def reset(self) -> None:
        """Have the next call request another token."""
        self._token = _NO_TOKEN if self._username is None else None

    async def _authenticate(self, connection: Connection, timeout_s: float) -> str:
        request = api.AuthenticateRequest(name=self._username or "", password=self._password)
        try:
            response = await connection.call(AUTHENTICATE, request, (_REQUIRE_LEADER,), timeout_s)
        except grpc.aio.AioRpcError as error:
            if _NOT_ENABLED in (error.details() or ""):
                return _NO_TOKEN
            raise
        return response.token
