"""Declaration of an API that the broker serves: its versions and its handler."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

from dray.api.exchange import Context
from dray.api.services import Services
from dray.quotas import QuotaKey
from dray.wire import Api, Message
from dray.wire.apis.api_versions import ApiVersion

Completion: TypeAlias = Callable[[], Awaitable[Message | None]]
Handler: TypeAlias = Callable[[Any, Context, Services], Awaitable[Message]]
"""The request is the message class of the handler's own API."""
Subjects: TypeAlias = Callable[[Any], Iterable[str]]
"""Returns what an administrative request is about, for the audit log."""
Begin: TypeAlias = Callable[[Any, Context, Services], Awaitable[Completion]]


class Served:
    """One API, as the last line of its module declares it.

    A `handle` function runs when all earlier requests of the connection have been answered, as in Kafka, so a
    client that sends many requests and does not read holds one response in memory, not all of them. Only
    Produce has a `begin` function instead: it takes the request in order, and returns what answers it later.
    """

    __slots__ = ("advertised_from", "api", "begin", "bytes_quota", "changes", "highest", "lowest")

    def __init__(
        self,
        api: Api,
        *,
        versions: tuple[int, int],
        handle: Handler | None = None,
        begin: Begin | None = None,
        advertised_from: int | None = None,
        bytes_quota: QuotaKey | None = None,
        changes: Subjects | None = None,
    ) -> None:
        self.api = api
        self.lowest, self.highest = versions
        self.advertised_from = self.lowest if advertised_from is None else advertised_from
        self.bytes_quota = bytes_quota
        """The quota that counts the bytes of the request, or of the response."""
        self.begin = _begin(handle, begin)
        self.changes = changes
        """What a request changes; None if the API is not administrative."""

    def advertised(self) -> ApiVersion:
        return ApiVersion(api_key=self.api.key, min_version=self.advertised_from, max_version=self.highest)


def _begin(handle: Handler | None, begin: Begin | None) -> Begin:
    if begin is not None:
        return begin
    assert handle is not None, "an API has either a handle or a begin function"

    async def in_order(request: Any, context: Context, services: Services) -> Completion:  # noqa: ANN401
        return partial(handle, request, context, services)

    return in_order
