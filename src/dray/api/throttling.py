"""Enforcement of client quotas, by throttling as Kafka does it.

What a request uses is counted when its response is ready. If its client is then above a limit, the response
says for how long, and is sent at once; for so long the connection is not read and begins no request.

- Produce: the bytes of the request. Its records are stored in any case.
- Fetch: the bytes of the response. Above a limit it is replaced by an empty one, and does not count.
- All APIs: the time that the request has kept the event loop busy, in percent of all time.
- Creating and deleting topics, adding partitions: partitions, which are counted by the handlers. Versions
  that know THROTTLING_QUOTA_EXCEEDED refuse what is above the limit; others are only throttled.

Limits hold for each broker by itself. A client without limits costs one look at a dictionary. Without quotas
nothing of this runs.
"""

from collections.abc import Awaitable, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace
from typing_extensions import Buffer

from dray.api.audit import Caller
from dray.api.client_limits import LimitsOfClients
from dray.api.errors import RequestRejected
from dray.api.exchange import Context
from dray.api.metrics import ApiMetrics
from dray.api.request_quota import RequestQuota
from dray.api.served import Completion, Served
from dray.api.services import Services
from dray.api.stepping import Stepped
from dray.cluster.quotas import ClientQuotas
from dray.quotas import QuotaKey
from dray.runtime import Clock
from dray.wire import LENGTH_BYTES, Api, ErrorCode, Message, encode_response

M = TypeVar("M", bound=Message)
T = TypeVar("T")


def charge_mutations(context: Context, partitions: int, *, strict_from: int) -> None:
    """Count partitions that are created or deleted.

    Raises `RequestRejected` if the client's quota does not allow it, from the version on that knows the code.
    """
    if context.quota is None:
        return
    strict = context.version >= strict_from
    throttle_ms = context.quota.take_mutations(partitions, strict=strict)
    if throttle_ms > 0:
        context.quota.throttle_mutations(throttle_ms)
    if throttle_ms > 0 and strict:
        raise RequestRejected(ErrorCode.THROTTLING_QUOTA_EXCEEDED)


class Throttling:
    """Throttles the clients of this broker."""

    def __init__(self, quotas: ClientQuotas, clock: Clock, metrics: ApiMetrics) -> None:
        self._limits = LimitsOfClients(quotas, clock)
        self.clock = clock
        self.metrics = metrics

    def measured(
        self, served: Served, caller: Caller, request_bytes: int, started: float
    ) -> "Measured | None":
        """Return a request that is to be measured; None if its client has no limits."""
        limits = self._limits.of(caller.principal.name, caller.client_id)
        if limits is None:
            return None
        measured = Measured(served, RequestQuota(limits, self._limits), request_bytes, self)
        if measured.is_timed:
            measured.seconds = self.clock.monotonic() - started  # to decode it
        return measured


class Measured:
    """A request of a client that has limits."""

    def __init__(self, served: Served, quota: RequestQuota, request_bytes: int, owner: Throttling) -> None:
        self._served = served
        self.quota = quota
        self.is_timed = quota.counts_processing
        self._request_bytes = request_bytes
        self._owner = owner
        self._encoded: tuple[Message, list[Buffer]] | None = None
        """A response that was encoded because its size counts."""
        self.seconds = 0.0
        """How long it has kept the event loop busy so far."""

    async def begin(self, request: Message, context: Context, services: Services) -> Completion:
        """Begin the request; its context has the quota."""
        begun = self._served.begin(request, context, services)
        completion = await (self._timed(begun) if self.is_timed else begun)
        return partial(self._complete, completion, context)

    def encode(self, api: Api, context: Context, response: Message) -> list[Buffer]:
        """Return the bytes of a response."""
        if self._encoded is not None and self._encoded[0] is response:
            return self._encoded[1]
        return encode_response(api, context.version, context.correlation_id, response)

    async def _complete(self, completion: Completion, context: Context) -> Message | None:
        response = await (self._timed(completion()) if self.is_timed else completion())
        self._count(response, context)
        quota = self.quota
        if quota.reason is None:
            return response
        self._owner.metrics.throttled(quota.reason, quota.throttle_ms / 1000)
        context.peer.mute(quota.throttle_ms / 1000)
        if self._served.bytes_quota is QuotaKey.CONSUMER_BYTE_RATE:
            quota.take_back_fetched()
            response = self._served.api.response()
        return None if response is None else _with_throttle_time(response, quota.throttle_ms)

    async def _timed(self, part: Awaitable[T]) -> T:
        """Run a part of the handler, and add up its time."""
        stepped = Stepped(part, self._owner.clock)
        try:
            return await stepped
        finally:
            self.seconds += stepped.seconds

    def _count(self, response: Message | None, context: Context) -> None:
        """Count what the request has used; of several reasons for the same time the first one is named."""
        quota, served = self.quota, self._served
        if response is not None:  # without one (acks=0) the time is not limited, as in Kafka
            quota.count_processing(self.seconds)
        quota.count_mutations()
        if served.bytes_quota is QuotaKey.PRODUCER_BYTE_RATE:
            quota.count_produced(self._request_bytes)
        elif served.bytes_quota is QuotaKey.CONSUMER_BYTE_RATE and quota.counts_fetched:
            assert response is not None
            encoded = encode_response(served.api, context.version, context.correlation_id, response)
            self._encoded = response, encoded
            quota.count_fetched(_size_bytes(served.api, context.version, encoded))


def _size_bytes(api: Api, version: int, encoded: Sequence[Buffer]) -> int:
    """Return the size that Kafka counts: of the body, and four bytes."""
    frame_bytes = int.from_bytes(memoryview(encoded[0])[:LENGTH_BYTES], "big")
    return frame_bytes - api.response_header_version(version)


def _with_throttle_time(response: M, throttle_ms: int) -> M:
    if "throttle_time_ms" not in response.__struct_fields__:
        return response
    return replace(response, throttle_time_ms=throttle_ms)
