"""Responses of one connection on their way to its client, and whether the client reads them.

Responses that become ready together are gathered, and passed to the transport together: each by itself would
cost a system call. While the transport has too many bytes that the client has not read, no more are sent.
"""

import asyncio
from typing import Final

from dray.api.exchange import EncodedResponse
from dray.net.sockets import acknowledged_bytes
from dray.runtime import Clock

_TOGETHER_BYTES: Final = 64 * 1024
"""Gathered responses are passed on when they have so many bytes."""


class Outgoing:
    """What is sent to one client, once there is a `transport`."""

    def __init__(self, clock: Clock, *, uses_tls: bool) -> None:
        self.transport: asyncio.Transport | None = None
        self._clock = clock
        self._uses_tls = uses_tls
        self._gathered: list[memoryview] = []
        self._gathered_bytes = 0
        self._writable = asyncio.Event()
        self._writable.set()
        self._waits_since: float | None = None
        """Since when the client, which alone can make progress, has neither read nor closed."""
        self._unsent_then = 0
        """What was left to send then."""

    async def until_writable(self) -> None:
        """Wait until the client has read enough."""
        if not self._writable.is_set():
            await self._writable.wait()

    def send(self, response: EncodedResponse) -> None:
        if response is None:
            return
        parts = [memoryview(part) for part in response]
        if not self._gathered:
            asyncio.get_running_loop().call_soon(self.flush)
        self._gathered += parts
        self._gathered_bytes += sum([part.nbytes for part in parts])
        if self._gathered_bytes >= _TOGETHER_BYTES:
            self.flush()

    def flush(self) -> None:
        """Pass the gathered responses to the transport."""
        parts, size = self._gathered, self._gathered_bytes
        self._gathered, self._gathered_bytes = [], 0
        if not parts or self.transport is None or self.transport.is_closing():
            return
        if size < _TOGETHER_BYTES:
            self.transport.write(b"".join(parts))
        else:
            self.transport.writelines(parts)

    def send_last(self, response: EncodedResponse) -> None:
        """Send a response, and close the connection after it."""
        assert self.transport is not None
        self.send(response)
        self.flush()
        self.transport.close()

    def clear(self) -> None:
        """Drop what was gathered."""
        self._gathered.clear()

    def pause(self) -> None:
        """Send nothing more until `resume`: the client does not read."""
        self._writable.clear()
        self.wait_for_client()

    def resume(self, *, stream_ended: bool) -> None:
        self._writable.set()
        if not stream_ended:
            self._waits_since = None

    def wait_for_client(self) -> None:
        """Wait for the client from now on."""
        self._waits_since, self._unsent_then = self._clock.monotonic(), self._unsent()

    def is_stalled(self, seconds: float) -> bool:
        """Return whether the client has neither read its responses nor closed for so long.

        The caller asks repeatedly: reading shows as progress from one call to the next.
        """
        if self._waits_since is None:
            return False
        if self._unsent() < self._unsent_then:
            self.wait_for_client()
        return self._clock.monotonic() - self._waits_since >= seconds

    def _unsent(self) -> int:
        """Return a number that decreases while the client reads."""
        if self.transport is None:
            return 0
        if self._uses_tls:  # what its transport has buffered is only a part of it
            return -acknowledged_bytes(self.transport)
        return self.transport.get_write_buffer_size()
