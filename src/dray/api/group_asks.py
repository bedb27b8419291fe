"""What the group APIs have in common: from a fault to its code, and what is known of who asks."""

from collections.abc import Awaitable
from typing import TypeVar
from uuid import UUID

from dray.api.exchange import Context
from dray.api.services import Services
from dray.groups.faults import Fault
from dray.wire import ErrorCode

T = TypeVar("T")


def code_for(fault: Fault) -> ErrorCode:
    """Return Kafka's number for a fault; the names are the same."""
    return ErrorCode[fault.name]


def client_host(context: Context) -> str:
    """Return the client's address as Kafka shows it."""
    return f"/{context.peer.host}"


def new_id(services: Services) -> str:
    """Return what makes a member's id unlike all others."""
    return str(UUID(bytes=services.entropy.token(16), version=4))


async def with_the_others(work: Awaitable[T], context: Context, services: Services) -> T:
    """Wait for what may have to wait for other members, which is no slowness of this broker."""
    began = services.clock.monotonic()
    try:
        return await work
    finally:
        context.pauses.seconds += services.clock.monotonic() - began
