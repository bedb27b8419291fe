"""What a sweep is about to delete: found by reading alone, deleted by whoever decides to."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum


class Why(StrEnum):
    """Why an object may go."""

    GIVEN_UP = "nothing points to it any more"
    ORPHAN = "it was never committed"
    STRAY = "nothing tells of it"
    LOAD = "its bulk load was given up"


@dataclass(frozen=True, slots=True)
class Doomed:
    """An object that may be deleted now; it stays so until it is.

    `delete` returns whether it was: somebody may have needed it after all, or been faster.
    """

    path: str
    why: Why
    delete: Callable[[], Awaitable[bool]] = field(repr=False, compare=False)
