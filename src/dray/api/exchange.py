"""What the sockets and the APIs exchange: a frame and who sent it, an answer or the end of the connection."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from typing_extensions import Buffer

Answer = Sequence[Buffer] | None
"""A response's buffers, without the length in front; None: there is none to be sent."""


Finish = Callable[[], Awaitable[Answer]]
"""The second half of a request that was begun: waits for what it has to wait for, and answers."""


class CloseConnection(Exception):
    """The client must be cut off; the message says why, for the log."""


def _stay(_: str) -> None:
    """There is no connection to be closed."""


class Peer(NamedTuple):
    """Who is at the other end."""

    host: str
    port: int
    hang_up: Callable[[str], None] = _stay
    """Cuts the client off; for what goes wrong after its request was done with. The text is for the log."""


@dataclass(slots=True)
class Pauses:
    """How long a handler has waited because the client asked for it, which is nobody's slowness."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler knows of a request besides its body."""

    version: int
    correlation_id: int
    client_id: str
    zone: str | None
    peer: Peer
    pauses: Pauses = field(default_factory=Pauses)
