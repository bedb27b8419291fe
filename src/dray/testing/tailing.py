"""Wait at the end of a stream, built on `Log.watched` as a fetch is."""

import asyncio
from contextlib import suppress

from dray.ids import StreamId
from dray.index import StreamHead
from dray.log import Log
from dray.runtime import Clock


async def wait_past(log: Log, clock: Clock, stream: StreamId, offset: int, seconds: float) -> StreamHead:
    """Return once there is a record at `offset`, or after the timeout; the head says which."""
    deadline = clock.monotonic() + seconds
    with log.watched([stream]) as changed:
        while True:
            changed.clear()
            head = await log.recent_head(stream)
            if head.high_watermark <= offset:
                head = await log.head(stream)
            left = deadline - clock.monotonic()
            if head.high_watermark > offset or left <= 0:
                return head
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await changed.wait()
