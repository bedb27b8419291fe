"""gRPC channels to the servers, and the methods of the protocol on them.

Nothing here retries, gRPC included: whether a request may be repeated is decided where it is made.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import grpc
from google.protobuf.message import Message

from dray.meta.grpc_tls import channel_credentials
from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.access import Headers, OxiaAccess, Tokens
from dray.meta.oxia.errors import SessionNotFound, StoreClosed, meta_error, token_refused
from dray.meta.port import MetaError, Unavailable
from dray.runtime import Clock

_SERVICE: Final = "/io.oxia.proto.v1.OxiaClient/"
_OPTIONS: Final = (
    ("grpc.max_send_message_length", 256 * 1024 * 1024),
    ("grpc.max_receive_message_length", 256 * 1024 * 1024),
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.use_local_subchannel_pool", 1),
)
_UNARY: Final[dict[str, type[Message]]] = {
    "Write": api.WriteResponse,
    "CreateSession": api.CreateSessionResponse,
    "KeepAlive": api.KeepAliveResponse,
    "CloseSession": api.CloseSessionResponse,
}
_STREAMS: Final[dict[str, type[Message]]] = {
    "GetShardAssignments": api.ShardAssignments,
    "Read": api.ReadResponse,
    "List": api.ListResponse,
    "RangeScan": api.RangeScanResponse,
    "GetNotifications": api.NotificationBatch,
}


@dataclass(frozen=True, slots=True)
class _Server:
    channel: grpc.aio.Channel
    unary: dict[str, Any]
    streams: dict[str, Any]


class _Responses(AsyncIterator[Any]):
    """The responses of a stream. Not a generator: those have to be closed when a reader leaves early."""

    def __init__(self, call: "grpc.aio.UnaryStreamCall[Any, Any]") -> None:
        self._call = call

    async def __anext__(self) -> Any:  # noqa: ANN401 - a message
        response = await self._call.read()
        if response is grpc.aio.EOF:
            raise StopAsyncIteration
        return response


class Channels:
    """One channel for each server that was used."""

    def __init__(self, access: OxiaAccess, clock: Clock) -> None:
        self._credentials = None if access.tls is None else channel_credentials(access.tls, "Oxia")
        self._tokens = Tokens(access, clock)
        self._servers: dict[str, _Server] = {}
        self._closed = False

    async def call(self, method: str, address: str, request: Message, timeout_s: float) -> Any:  # noqa: ANN401 - a message
        """Send a unary request once; raises `MetaError` or `SessionNotFound`."""
        headers = self._tokens.headers()
        try:
            return await self._server(address).unary[method](request, timeout=timeout_s, metadata=headers)
        except grpc.aio.AioRpcError as error:
            raise self._failure(error, address, headers) from error
        except asyncio.CancelledError:
            self._raise_if_closed()
            raise

    @asynccontextmanager
    async def stream(
        self, method: str, address: str, request: Message, timeout_s: float
    ) -> AsyncIterator[AsyncIterator[Any]]:
        """Send a request and yield its responses; leaving the context cancels it."""
        headers = self._tokens.headers()
        call = self._server(address).streams[method](request, timeout=timeout_s, metadata=headers)
        try:
            yield _Responses(call)
        except grpc.aio.AioRpcError as error:
            raise self._failure(error, address, headers) from error
        except asyncio.CancelledError:
            self._raise_if_closed()
            raise
        finally:
            call.cancel()

    async def close(self) -> None:
        self._closed = True
        servers, self._servers = self._servers, {}
        for server in servers.values():
            await server.channel.close()

    def _failure(
        self, error: grpc.aio.AioRpcError, address: str, headers: Headers
    ) -> MetaError | SessionNotFound:
        if error.code() is grpc.StatusCode.UNAUTHENTICATED:
            if self._tokens.renewed(headers):
                return Unavailable(f"Oxia at {address} refused a token that has been replaced since")
            return token_refused(error, address, sent=self._tokens.configured)
        return meta_error(error, address)

    def _raise_if_closed(self) -> None:
        """A closed channel cancels its calls; do not mistake that for the cancellation of the task."""
        task = asyncio.current_task()
        if self._closed and task is not None and not task.cancelling():
            raise StoreClosed

    def _server(self, address: str) -> _Server:
        if self._closed:
            raise StoreClosed
        if address not in self._servers:
            self._servers[address] = _connect(address, self._credentials)
        return self._servers[address]


def _connect(address: str, credentials: grpc.ChannelCredentials | None) -> _Server:
    channel = (
        grpc.aio.insecure_channel(address, options=_OPTIONS)
        if credentials is None
        else grpc.aio.secure_channel(address, credentials, options=_OPTIONS)
    )
    unary = {
        name: channel.unary_unary(
            _SERVICE + name, request_serializer=_serialize, response_deserializer=response.FromString
        )
        for name, response in _UNARY.items()
    }
    streams = {
        name: channel.unary_stream(
            _SERVICE + name, request_serializer=_serialize, response_deserializer=response.FromString
        )
        for name, response in _STREAMS.items()
    }
    return _Server(channel, unary, streams)


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()
