"""The endpoints of an etcd cluster: calls go to the current one, until it does not answer.

Any member serves any request, so one endpoint is used at a time. When it is unavailable, has no leader or
misses the deadline of an attempt, the next one becomes the current one; callers that failed together move
together. `call` makes one attempt. `repeat` is for requests that may be executed twice.

When the leader dies or is cut off, the other members forward requests to it for another second or two, until
they elect a new one. Those requests are lost, and their callers get no answer. So a request that is not
answered soon is sent to the next endpoint as well (*hedged*), and the first answer counts.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import grpc.aio
from google.protobuf.message import Message

from dray.meta.etcd.authentication import Authentication
from dray.meta.etcd.calls import Connection, Method
from dray.meta.etcd.errors import Place, StoreClosed, TokenRefused, Unanswered, meta_error
from dray.meta.etcd.settings import EtcdAccess, EtcdMetaSettings
from dray.meta.grpc_tls import channel_credentials
from dray.meta.port import MetaError, Unavailable
from dray.runtime import Clock, Entropy, RetrySettings, hedged, retry

T = TypeVar("T")
Sent = TypeVar("Sent", bound=Message)
Got = TypeVar("Got", bound=Message)

Stream = grpc.aio.StreamStreamCall[Sent, Got]


class Endpoints:
    """Connections to all members, of which one is current."""

    def __init__(
        self, access: EtcdAccess, settings: EtcdMetaSettings, clock: Clock, entropy: Entropy
    ) -> None:
        credentials = None if access.tls is None else channel_credentials(access.tls, "etcd")
        self._access = access
        self._clock = clock
        self._entropy = entropy
        self._attempt_s = settings.attempt_ms / 1000
        self._hedge_s = settings.hedge_ms / 1000
        self._retry = RetrySettings(first_ms=20.0, max_ms=500.0, budget_ms=settings.wait_ms)
        self._connections = [Connection(address, credentials) for address in access.addresses]
        self._current = 0
        self._closed = False
        self._authentication = Authentication(access)

    @property
    def addresses(self) -> tuple[str, ...]:
        return self._access.addresses

    async def call(self, method: Method[Sent, Got], request: Sent, *, timeout_s: float | None = None) -> Got:
        """Make one attempt; raises `MetaError`, among them `Unanswered`."""
        connection = self._connection()
        try:
            return await self._with_token(connection, method, request, timeout_s or self._attempt_s)
        except grpc.aio.AioRpcError as error:
            raise self.failure(connection, error) from error
        except asyncio.CancelledError:
            self.require_cancelled(connection)
            raise

    async def open(self, method: Method[Sent, Got]) -> tuple[Connection, Stream[Sent, Got]]:
        """Open a stream on the current endpoint."""
        connection = self._connection()
        try:
            headers = await self._authentication.headers(connection, self._attempt_s)
        except grpc.aio.AioRpcError as error:
            raise self.failure(connection, error) from error
        return connection, connection.stream(method, headers)

    def failure(self, connection: Connection, error: grpc.aio.AioRpcError) -> MetaError:
        """Return what a failed call raises, and leave an endpoint that does not answer."""
        failure = meta_error(error, self.place(connection))
        if isinstance(failure, Unanswered):
            self.leave(connection)
        if isinstance(failure, TokenRefused):
            self._authentication.reset()
            return Unavailable(str(failure))
        return failure

    def require_cancelled(self, connection: Connection) -> None:
        """Raise `Unanswered` if a call was cancelled with its connection, and not with its task."""
        task = asyncio.current_task()
        if task is None or not task.cancelling():
            raise Unanswered(f"the connection to {self.place(connection)} was closed during a call")

    def leave(self, connection: Connection) -> None:
        """Make the next endpoint the current one, unless that has happened since."""
        if connection is self._connections[self._current]:
            self._current = (self._current + 1) % len(self._connections)

    def forget_token(self) -> None:
        self._authentication.reset()

    def place(self, connection: Connection) -> Place:
        return Place(connection.address, self._access.prefix, self._access.username)

    async def repeat(
        self, method: Method[Sent, Got], request: Sent, *, budget_ms: float | None = None
    ) -> Got:
        """Repeat a request that may be executed twice, until it is answered or the time is over."""

        async def attempt() -> Got:
            return await self._hedged(method, request)

        return await self.retried(attempt, budget_ms=budget_ms)

    async def retried(self, attempt: Callable[[], Awaitable[T]], *, budget_ms: float | None = None) -> T:
        """Repeat an operation while it raises `Unavailable`."""
        settings = self._retry if budget_ms is None else replace(self._retry, budget_ms=budget_ms)
        try:
            return await retry(
                attempt, on=(Unavailable,), clock=self._clock, entropy=self._entropy, settings=settings
            )
        except StoreClosed as error:
            raise Unavailable("the metadata store is closed") from error
        except Unanswered as error:
            raise Unavailable(str(error)) from error

    async def close(self) -> None:
        self._closed = True
        for connection in self._connections:
            await connection.close()

    async def _hedged(self, method: Method[Sent, Got], request: Sent) -> Got:
        if len(self._connections) == 1:
            return await self.call(method, request)
        silent: Connection | None = None

        async def attempt() -> Got:
            nonlocal silent
            if silent is not None:
                self.leave(silent)
            silent = self._connection()
            return await self.call(method, request)

        return await hedged(attempt, self._hedge_s, on=(Unanswered,))

    def _connection(self) -> Connection:
        if self._closed:
            raise StoreClosed
        return self._connections[self._current]

    async def _with_token(
        self, connection: Connection, method: Method[Sent, Got], request: Sent, timeout_s: float
    ) -> Got:
        headers = await self._authentication.headers(connection, timeout_s)
        try:
            return await connection.call(method, request, headers, timeout_s)
        except grpc.aio.AioRpcError as error:
            if not isinstance(meta_error(error, self.place(connection)), TokenRefused):
                raise
        self._authentication.forget(headers)
        headers = await self._authentication.headers(connection, timeout_s)
        return await connection.call(method, request, headers, timeout_s)
