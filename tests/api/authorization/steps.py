"""Steps of the matrix: a request that every user sends, and what must be there before."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from dray.api.dispatch import SERVED
from dray.wire import Message
from tests.api.authorization.rendering import Answer
from tests.api.authorization.world import World
from tests.oracle.request_client import BY_REQUEST

Make: TypeAlias = Callable[[World, int], Message]
"""Makes the request, given a version."""
Prepare: TypeAlias = Callable[[World], Awaitable[None]]

Exchange: TypeAlias = Callable[[World, str], Awaitable[Answer]]
"""Sends the requests of a user, in the newest version."""


@dataclass(frozen=True, slots=True)
class Step:
    """A request in some versions."""

    api: type[Message]
    """The class of the request."""
    label: str
    make: Make
    versions: tuple[int, ...] = ()
    """By default the oldest and the newest that are served."""
    prepare: Prepare | None = None
    """Runs before each request."""
    exchange: Exchange | None = None
    """Sends what `make` does not: several requests, of which the last is answered."""

    @property
    def name(self) -> str:
        return BY_REQUEST[self.api].name

    @property
    def in_versions(self) -> tuple[int, ...]:
        served = SERVED[BY_REQUEST[self.api].key]
        return self.versions or tuple(sorted({served.lowest, served.highest}))
