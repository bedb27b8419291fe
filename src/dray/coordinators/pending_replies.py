"""Pending replies of one group: joins and syncs that wait for other members, with their callers."""

import asyncio
from typing import Any

from dray.groups import machine
from dray.groups.results import PendingReply
from dray.groups.stored import Group


class PendingReplies:
    """Keeps the callers, and completes their replies as soon as the group allows."""

    def __init__(self) -> None:
        self._replies: dict[asyncio.Future[Any], PendingReply] = {}

    def __bool__(self) -> bool:
        return bool(self._replies)

    async def wait(self, pending: PendingReply) -> object:
        """Wait for the completion of a reply; a caller that is cancelled is forgotten."""
        reply = asyncio.get_running_loop().create_future()
        self._replies[reply] = pending
        try:
            return await reply
        finally:
            del self._replies[reply]

    def complete(self, group: Group | None) -> None:
        """Complete every reply that the group, as it is now, allows."""
        for reply, pending in list(self._replies.items()):
            result = machine.try_complete(group, pending)
            if result is not None and not reply.done():
                reply.set_result(result)

    def fail(self, error: Exception) -> None:
        for reply in self._replies:
            if not reply.done():
                reply.set_exception(error)
