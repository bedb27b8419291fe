"""Tasks and futures whose place in a set depends on a number, not on their address.

asyncio keeps tasks in sets (`wait`, `TaskGroup`, `all_tasks`) and walks through them: with hashes by address,
two runs of one seed would differ.
"""

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import Any, TypeVar

T = TypeVar("T")


class NumberedTask(asyncio.Task[T]):
    def __init__(
        self,
        coro: Coroutine[Any, Any, T],
        *,
        loop: asyncio.AbstractEventLoop,
        name: str,
        context: Context | None,
        number: int,
    ) -> None:
        self.number = number  # first of all: the set of all tasks asks for the hash
        super().__init__(coro, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self.number


class NumberedFuture(asyncio.Future[Any]):
    number = 0

    def __hash__(self) -> int:
        return self.number
