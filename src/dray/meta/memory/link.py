"""The way from a client to the memory server, so that it can be made to fail.

A request is a call that touches only the server; who carries it may run it now, later or never, and may lose
the answer. What the request itself raises is an answer like any other and reaches the caller as it is.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class AnswerLost(Exception):
    """No answer came: the request may have been executed, and may still be. Never leaves the adapter."""


class Link(Protocol):
    """Carries requests."""

    async def call(self, request: Callable[[], T]) -> T:
        """Return the request's answer; raises `AnswerLost`, or `Unavailable` if it surely was not run."""
        ...


class DirectLink:
    """Executes every request at once."""

    async def call(self, request: Callable[[], T]) -> T:
        return request()
