"""Problems with settings, and their wording.

A problem is one line: where it is, what was found there, what is allowed. All problems of a start are
reported together, so that they can be fixed in one edit. No problem ever shows a secret.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

_SHOWN_MAX: Final = 80
_USER_INFO: Final = re.compile(r"//[^/@]*@")

OriginKind = Literal["default", "file", "environment", "flag"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: a line of a file, a variable, a flag, or the default."""

    kind: OriginKind
    name: str = ""
    line: int | None = None

    def __str__(self) -> str:
        match self.kind:
            case "default":
                return "default"
            case "file":
                return self.name if self.line is None else f"{self.name}:{self.line}"
            case "environment":
                return f"env {self.name}"
            case "flag":
                return f"flag {self.name}"


_SOURCES: Final[Sequence[OriginKind]] = ("file", "environment", "flag", "default")

DEFAULT: Final = Origin("default")


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem, and where it is."""

    origin: Origin
    what: str

    def __str__(self) -> str:
        return self.what if self.origin.kind == "default" else f"{self.origin}: {self.what}"


class SettingsError(Exception):
    """The settings are invalid and nothing was started."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=_place))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def _place(problem: Problem) -> tuple[int, int]:
    """Sort by source, and problems of a file by line."""
    return _SOURCES.index(problem.origin.kind), problem.origin.line or 0


def quoted(text: str) -> str:
    """Return a value for one line of text: quoted, shortened, with URL credentials masked."""
    masked = _USER_INFO.sub("//***@", text)
    short = masked if len(masked) <= _SHOWN_MAX else masked[:_SHOWN_MAX] + "…"
    return repr(short)


def named(key: str) -> str:
    """Return a key as it is, or quoted if it does not fit on one line."""
    return key if key.isprintable() and len(key) <= _SHOWN_MAX else quoted(key)


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return `; did you mean …?` or nothing."""
    close = get_close_matches(word[:_SHOWN_MAX], list(candidates), n=1)
    return f"; did you mean {close[0]}?" if close else ""
