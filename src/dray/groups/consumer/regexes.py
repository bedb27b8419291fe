"""Regex matching of topic names, in the syntax of RE2, which KIP-848 prescribes for regex subscriptions.

This is the only module that imports `re2`. Python's own `re` has another syntax, and a hostile regex can keep
it busy forever, while RE2 takes time linear in the length of the text.

Each regex may use `_MEMORY_BYTES`, part of which RE2 reserves for the program; a regex that needs more is
rejected like one that does not parse. That limits the worst case, a name of 249 characters against the
largest regex built to be slow, to some 10 ms; common ones take 3 µs. As 10 ms is still too long for all names
in a row, `NameMatcher` remembers its results, so that a caller that must not block can match name by name
ahead of time.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Protocol

import re2  # type: ignore[import-untyped]

_MEMORY_BYTES: Final = 256 << 10
_MATCHERS: Final = 16
"""The number of matchers that are kept, by last use."""


class InvalidRegex(Exception):
    """The text is not a valid regex; the message says why."""


class Regex(Protocol):
    """The part of a compiled regex that is used here."""

    def fullmatch(self, text: bytes) -> object | None: ...


def compiled(regex: str) -> Regex:
    """Compile a regex; raises `InvalidRegex`."""
    try:
        found: Regex = re2.compile(regex, _options())
    except re2.error as error:
        raise InvalidRegex(_reason(error)) from error
    except UnicodeEncodeError as error:
        raise InvalidRegex("invalid Unicode") from error
    return found


class NameMatcher:
    """Matches names against one regex, and remembers the results."""

    def __init__(self, regex: str) -> None:
        self._fullmatch = compiled(regex).fullmatch
        self._results: dict[str, bool] = {}

    def matches(self, name: str) -> bool:
        """Return whether the regex matches the whole name."""
        result = self._results.get(name)
        if result is None:
            result = self._results[name] = self._fullmatch(name.encode()) is not None
        return result


@lru_cache(maxsize=_MATCHERS)
def name_matcher(regex: str) -> NameMatcher:
    """Return the matcher of a regex; raises `InvalidRegex`."""
    return NameMatcher(regex)


def matching_names(regex: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that match as a whole, sorted; raises `InvalidRegex`."""
    matches = name_matcher(regex).matches
    return tuple(sorted(filter(matches, names)))


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.never_capture = True
    options.log_errors = False
    return options


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
