"""Time that a coroutine keeps the event loop busy: all its steps, without what it waits for."""

from collections.abc import Awaitable, Generator
from functools import partial
from typing import Any, Generic, TypeVar

from dray.runtime import Clock

T = TypeVar("T")


class Stepped(Generic[T]):
    """An awaitable that adds up the time of its steps."""

    def __init__(self, inner: Awaitable[T], clock: Clock) -> None:
        self._inner = inner
        self._clock = clock
        self.seconds = 0.0

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._inner.__await__()
        resume = partial(next, steps)
        while True:
            began = self._clock.monotonic()
            try:
                waits_for = resume()
            except StopIteration as ended:
                result: T = ended.value
                return result
            finally:
                self.seconds += self._clock.monotonic() - began
            resume = yield from _passed_on(waits_for, steps)


def _passed_on(waits_for: Any, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, "partial[Any]"]:  # noqa: ANN401
    """Wait for what a step waits for; returns how to resume with the outcome."""
    try:
        outcome = yield waits_for
    except GeneratorExit:
        steps.close()
        raise
    except BaseException as error:  # noqa: BLE001 - a cancellation too belongs to the coroutine
        return partial(steps.throw, error)
    return partial(steps.send, outcome)
