"""What the sockets and the APIs exchange: a frame and who sent it, an answer or the end of the connection."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from typing_extensions import Buffer

Answer = Sequence[Buffer] | None
"""A response's buffers, without the length in front; None: there is none to be sent."""


Finish = Callable[[], Awaitable[Answer]]
"""The second half of a request that was begun: waits for what it has to wait for, and answers."""


class CloseConnection(Exception):
    """The client must be cut off; the message says why, for the log."""


class Peer(NamedTuple):
    """Who is at the other end."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler knows of a request besides its body."""

    version: int
    correlation_id: int
    client_id: str
    zone: str | None
    peer: Peer
