"""Parts that the group APIs share: error codes, client identity, waiting for other members."""

from collections.abc import Awaitable
from typing import TypeVar
from uuid import UUID

from dray.api.exchange import Context
from dray.api.services import Services
from dray.groups.types import GroupError
from dray.wire import ErrorCode

T = TypeVar("T")


def code_for(error: GroupError) -> ErrorCode:
    """Return the error code of the same name."""
    return ErrorCode[error.name]


def client_host(context: Context) -> str:
    """Return the client's address as Kafka shows it."""
    return f"/{context.peer.host}"


def random_id(services: Services) -> str:
    """Return a random UUID, for the id of a new member."""
    return str(UUID(bytes=services.entropy.token(16), version=4))


async def wait_for_members(work: Awaitable[T], context: Context, services: Services) -> T:
    """Wait for a request that may wait for other members; that does not count as processing time."""
    began = services.clock.monotonic()
    try:
        return await work
    finally:
        context.waited.seconds += services.clock.monotonic() - began
