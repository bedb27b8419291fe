"""One node: the gRPC service at one address."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final

import grpc
from google.protobuf.message import Message

from dray.meta.oxia import api_pb2 as api
from dray.testing.oxia_server.shard import PoisonedError

if TYPE_CHECKING:
    from dray.testing.oxia_server.server import OxiaServer, OxiaServerSettings

_SERVICE: Final = "io.oxia.proto.v1.OxiaClient"
_NEVER_S: Final = 3600.0
_PAGE: Final = 1000
_PAGE_BYTES: Final = 2 * 1024 * 1024
_OPTIONS: Final = (
    ("grpc.max_send_message_length", 256 * 1024 * 1024),
    ("grpc.max_receive_message_length", 256 * 1024 * 1024),
    ("grpc.so_reuseport", 0),
)
Context = Any
"""`grpc.aio.ServicerContext`, which is generic without use here."""


class _TokenCheck(grpc.aio.ServerInterceptor):
    """Refuses calls without a valid token, as Oxia's servers do."""

    def __init__(self, server: "OxiaServer") -> None:
        self._server = server

    async def intercept_service(self, continuation: Any, details: Any) -> Any:  # noqa: ANN401 - untyped in grpc
        handler = await continuation(details)
        sent = dict(details.invocation_metadata).get("authorization", "")
        if not self._server.tokens or sent.removeprefix("Bearer ") in self._server.tokens:
            return handler
        return _refusing(handler, "token is not valid" if sent else "token is empty")


def _refusing(handler: Any, why: str) -> Any:  # noqa: ANN401 - untyped in grpc
    async def refuse(_: object, context: Context) -> None:
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, why)

    make = (
        grpc.unary_stream_rpc_method_handler
        if handler.response_streaming
        else grpc.unary_unary_rpc_method_handler
    )
    return make(refuse, handler.request_deserializer, handler.response_serializer)


def _credentials(settings: "OxiaServerSettings") -> grpc.ServerCredentials | None:
    if settings.certificate is None or settings.key is None:
        return None
    authorities = settings.client_authorities
    return grpc.ssl_server_credentials(
        [(settings.key.read_bytes(), settings.certificate.read_bytes())],
        root_certificates=None if authorities is None else authorities.read_bytes(),
        require_client_auth=authorities is not None,
    )


class Node:
    """Serves the shards that it leads, and the assignments of all."""

    def __init__(self, server: "OxiaServer", number: int) -> None:
        self.address = ""
        self._server = server
        self._number = number
        self._grpc = grpc.aio.server(interceptors=[_TokenCheck(server)], options=_OPTIONS)
        self._grpc.add_generic_rpc_handlers((self._handlers(),))

    async def start(self, settings: "OxiaServerSettings", port: int) -> None:
        at, credentials = f"{settings.host}:{port}", _credentials(settings)
        bound = (
            self._grpc.add_insecure_port(at)
            if credentials is None
            else self._grpc.add_secure_port(at, credentials)
        )
        self.address = f"{settings.host}:{bound}"
        await self._grpc.start()

    async def stop(self) -> None:
        await self._grpc.stop(grace=None)

    def _handlers(self) -> grpc.GenericRpcHandler:
        server = self._server
        handlers = {
            "Write": _unary(self._serve("Write", server.write), api.WriteRequest),
            "CreateSession": _unary(
                self._serve("CreateSession", server.create_session), api.CreateSessionRequest
            ),
            "KeepAlive": _unary(self._serve("KeepAlive", server.keep_alive), api.SessionHeartbeat),
            "CloseSession": _unary(
                self._serve("CloseSession", server.close_session), api.CloseSessionRequest
            ),
            "Read": _stream(self._read, api.ReadRequest),
            "List": _stream(self._list, api.ListRequest),
            "RangeScan": _stream(self._range_scan, api.RangeScanRequest),
            "GetNotifications": _stream(self._notifications, api.NotificationsRequest),
            "GetShardAssignments": _stream(self._assignments, api.ShardAssignmentsRequest),
        }
        return grpc.method_handlers_generic_handler(_SERVICE, handlers)

    def _serve(self, method: str, execute: Callable[[Any], Message]) -> Callable[[Any, Context], Any]:
        """Return the handler of a unary method, with the faults of the server."""

        async def handle(request: Any, context: Context) -> Message:  # noqa: ANN401 - a message
            fault = self._server.faults.draw(method, request)
            if fault is None:
                return await self._execute(request, context, execute)
            first: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            for seconds, done in ((fault.executed_after_s, first), (fault.again_after_s, None)):
                if seconds is not None:
                    self._server.start_late(self._execute_later(request, execute, seconds, done), method)
            if fault.hangs:
                await asyncio.sleep(_NEVER_S)
            if not fault.answered:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "the connection was lost")
            response = await asyncio.shield(first)
            if isinstance(response, Exception):
                await _abort(context, response)
            return response  # type: ignore[no-any-return]

        return handle

    async def _execute(self, request: Any, context: Context, execute: Callable[[Any], Message]) -> Message:  # noqa: ANN401
        response = self._try(request, execute)
        if isinstance(response, Exception):
            await _abort(context, response)
        assert isinstance(response, Message)
        return response

    async def _execute_later(
        self,
        request: Any,  # noqa: ANN401 - a message
        execute: Callable[[Any], Message],
        seconds: float,
        done: "asyncio.Future[Any] | None",
    ) -> None:
        await asyncio.sleep(seconds)
        response = self._try(request, execute)
        if done is not None and not done.done():
            done.set_result(response)

    def _try(self, request: Any, execute: Callable[[Any], Message]) -> Message | Exception:  # noqa: ANN401
        """Execute a request now, if this node is the leader now."""
        if not self._server.leads(self._number, request.shard):
            return NotLeaderError()
        try:
            return execute(request)
        except Exception as error:  # noqa: BLE001 - passed to the caller
            return error

    async def _read(self, request: api.ReadRequest, context: Context) -> AsyncIterator[api.ReadResponse]:
        """Read keys one after the other; others may write in between."""
        await self._begin("Read", request, context)
        found = []
        for get in request.gets:
            found.append(self._server.shard(request.shard).get(get.key, value=get.include_value))
            await asyncio.sleep(0)
        yield api.ReadResponse(gets=found)

    async def _list(self, request: api.ListRequest, context: Context) -> AsyncIterator[api.ListResponse]:
        await self._begin("List", request, context)
        keys = self._server.shard(request.shard).keys(request.start_inclusive, request.end_exclusive)
        yield api.ListResponse(keys=keys)

    async def _range_scan(
        self, request: api.RangeScanRequest, context: Context
    ) -> AsyncIterator[api.RangeScanResponse]:
        await self._begin("RangeScan", request, context)
        records = self._server.shard(request.shard).records(request.start_inclusive, request.end_exclusive)
        page = api.RangeScanResponse()
        size = 0
        for record in records:
            page.records.append(record)
            size += len(record.value)
            if len(page.records) >= _PAGE or size >= _PAGE_BYTES:
                yield page
                page, size = api.RangeScanResponse(), 0
        if page.records:
            yield page

    async def _notifications(
        self, request: api.NotificationsRequest, context: Context
    ) -> AsyncIterator[api.NotificationBatch]:
        await self._begin("GetNotifications", request, context)
        async for batch in self._server.notifications(self._number, request):
            yield batch
        await context.abort(grpc.StatusCode.UNAVAILABLE, "oxia: resource unavailable")

    async def _assignments(
        self, request: api.ShardAssignmentsRequest, context: Context
    ) -> AsyncIterator[api.ShardAssignments]:
        if request.namespace != self._server.settings.namespace:
            await context.abort(grpc.StatusCode.NOT_FOUND, "oxia: namespace not found")
        async for assignments in self._server.assignments():
            yield assignments

    async def _begin(self, method: str, request: Any, context: Context) -> None:  # noqa: ANN401 - a message
        """Refuse a request to another leader, or one that a fault hits."""
        if not self._server.leads(self._number, request.shard):
            await _abort(context, NotLeaderError())
        fault = self._server.faults.draw(method, request)
        if fault is not None and not fault.answered:
            if fault.hangs:
                await asyncio.sleep(_NEVER_S)
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the connection was lost")


class NotLeaderError(Exception):
    """Another node leads the shard."""


async def _abort(context: Context, error: Exception) -> None:
    """Answer with the error as Oxia does: its own codes arrive as `UNKNOWN`."""
    if isinstance(error, NotLeaderError):
        await context.abort(grpc.StatusCode.UNKNOWN, "oxia: node is not leader")
    if isinstance(error, PoisonedError):
        await context.abort(grpc.StatusCode.UNKNOWN, "oxia db: failed to apply batch")
    if isinstance(error, ValueError):
        await context.abort(grpc.StatusCode.UNKNOWN, str(error))
    await context.abort(grpc.StatusCode.UNKNOWN, "oxia: session not found")


def _unary(handle: Callable[..., Any], request: type[Message]) -> Any:  # noqa: ANN401 - gRPC has no type for it
    return grpc.unary_unary_rpc_method_handler(
        handle, request_deserializer=request.FromString, response_serializer=_serialize
    )


def _stream(handle: Callable[..., Any], request: type[Message]) -> Any:  # noqa: ANN401 - gRPC has no type for it
    return grpc.unary_stream_rpc_method_handler(
        handle, request_deserializer=request.FromString, response_serializer=_serialize
    )


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()
