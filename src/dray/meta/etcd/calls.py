"""The calls of etcd's API, and one connection that carries them.

The methods are called by their gRPC path. gRPC's own retries are off: only the adapter knows which requests
may be repeated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from dray.meta.etcd import api_pb2 as api

Sent = TypeVar("Sent", bound=Message)
Got = TypeVar("Got", bound=Message)
Headers = Sequence[tuple[str, str]]

_OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 2_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # A server allows a ping every 5 s (--grpc-keepalive-min-time), and only while a call is open.
    ("grpc.keepalive_time_ms", 6_000),
    ("grpc.keepalive_timeout_ms", 2_000),
)


@dataclass(frozen=True, slots=True)
class Method(Generic[Sent, Got]):
    """A method, and the type of its response."""

    path: str
    sends: type[Sent]
    returns: type[Got]


RANGE: Final = Method("/etcdserverpb.KV/Range", api.RangeRequest, api.RangeResponse)
TXN: Final = Method("/etcdserverpb.KV/Txn", api.TxnRequest, api.TxnResponse)
COMPACT: Final = Method("/etcdserverpb.KV/Compact", api.CompactionRequest, api.CompactionResponse)
LEASE_GRANT: Final = Method("/etcdserverpb.Lease/LeaseGrant", api.LeaseGrantRequest, api.LeaseGrantResponse)
LEASE_REVOKE: Final = Method(
    "/etcdserverpb.Lease/LeaseRevoke", api.LeaseRevokeRequest, api.LeaseRevokeResponse
)
KEEP_ALIVE: Final = Method(
    "/etcdserverpb.Lease/LeaseKeepAlive", api.LeaseKeepAliveRequest, api.LeaseKeepAliveResponse
)
WATCH: Final = Method("/etcdserverpb.Watch/Watch", api.WatchRequest, api.WatchResponse)
AUTHENTICATE: Final = Method(
    "/etcdserverpb.Auth/Authenticate", api.AuthenticateRequest, api.AuthenticateResponse
)
STATUS: Final = Method("/etcdserverpb.Maintenance/Status", api.StatusRequest, api.StatusResponse)

_STREAMS: Final = frozenset({KEEP_ALIVE.path, WATCH.path})


class Connection:
    """A channel to one endpoint. A stream that is used as a call carries one request and one response."""

    def __init__(self, address: str, credentials: grpc.ChannelCredentials | None) -> None:
        self.address = address
        self._channel = (
            grpc.aio.insecure_channel(address, options=_OPTIONS)
            if credentials is None
            else grpc.aio.secure_channel(address, credentials, options=_OPTIONS)
        )
        self._callables: dict[str, Callable[..., Any]] = {}

    async def call(self, method: Method[Sent, Got], request: Sent, headers: Headers, timeout_s: float) -> Got:
        """Return the response; raises `grpc.aio.AioRpcError`."""
        if method.path in _STREAMS:
            return await self._call_stream(method, request, headers, timeout_s)
        call = self._callable(method)(request, metadata=headers, timeout=timeout_s)
        response: Got = await call
        return response

    def stream(
        self, method: Method[Sent, Got], headers: Headers, timeout_s: float | None = None
    ) -> grpc.aio.StreamStreamCall[Sent, Got]:
        call: grpc.aio.StreamStreamCall[Sent, Got] = self._callable(method)(
            metadata=headers, timeout=timeout_s
        )
        return call

    async def close(self) -> None:
        await self._channel.close()

    async def _call_stream(
        self, method: Method[Sent, Got], request: Sent, headers: Headers, timeout_s: float
    ) -> Got:
        call = self.stream(method, headers, timeout_s)
        try:
            await call.write(request)
            response = await call.read()
            if not isinstance(response, method.returns):
                raise grpc.aio.AioRpcError(
                    grpc.StatusCode.UNAVAILABLE,
                    grpc.aio.Metadata(),
                    grpc.aio.Metadata(),
                    "the stream ended without a response",
                )
            return response
        finally:
            call.cancel()

    def _callable(self, method: Method[Sent, Got]) -> Callable[..., Any]:
        known = self._callables.get(method.path)
        if known is None:
            kind = self._channel.stream_stream if method.path in _STREAMS else self._channel.unary_unary
            known = kind(
                method.path,
                request_serializer=method.sends.SerializeToString,
                response_deserializer=method.returns.FromString,
            )
            self._callables[method.path] = known
        return known
