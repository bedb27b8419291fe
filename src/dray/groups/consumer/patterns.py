"""Patterns of topic names, in the syntax of RE2, which is Kafka's for subscriptions by pattern.

This is the only module that imports `re2`. Python's own `re` would do neither: it knows another syntax, and
a hostile pattern can keep it busy for ever, while RE2's time grows with the length of the text alone.

Every pattern may use `_MEMORY_BYTES`, of which RE2 gives a part to the program: what becomes larger is
refused like one that cannot be read. That holds the worst case, a name of 249 letters against the largest
pattern made to be slow, to some 10 ms; usual ones take 3 µs. As that is still long for all names at once,
what a pattern said of a name is kept in a `Book` for a while: whoever must not be held up asks name by name
beforehand.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Protocol

import re2  # type: ignore[import-untyped]

_MEMORY_BYTES: Final = 256 << 10
_BOOKS: Final = 16
"""Those that were opened last are kept."""


class BadPattern(Exception):
    """This cannot be read as a pattern; the message says why."""


class Pattern(Protocol):
    """What is used of a compiled pattern."""

    def fullmatch(self, text: bytes) -> object | None: ...


def compiled(pattern: str) -> Pattern:
    """Read a pattern; raises `BadPattern`."""
    try:
        found: Pattern = re2.compile(pattern, _options())
    except re2.error as error:
        raise BadPattern(_reason(error)) from error
    except UnicodeEncodeError as error:
        raise BadPattern("invalid Unicode") from error
    return found


class Book:
    """What one pattern says of names."""

    def __init__(self, pattern: str) -> None:
        self._fullmatch = compiled(pattern).fullmatch
        self._said: dict[str, bool] = {}

    def matches(self, name: str) -> bool:
        """Whether it matches the name as a whole."""
        said = self._said.get(name)
        if said is None:
            said = self._said[name] = self._fullmatch(name.encode()) is not None
        return said


@lru_cache(maxsize=_BOOKS)
def book_of(pattern: str) -> Book:
    """Open the book of a pattern; raises `BadPattern`."""
    return Book(pattern)


def matching(pattern: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that match as a whole, in order; raises `BadPattern`."""
    matches = book_of(pattern).matches
    return tuple(sorted(filter(matches, names)))


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.never_capture = True
    options.log_errors = False
    return options


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)
