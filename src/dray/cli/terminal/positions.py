"""Argument types for positions in a topic: where reading begins, and points in time."""

import re
from typing import Final

from dray.cli.render.formats import parse_iso
from dray.cli.terminal.params import Parsed
from dray.client.positions import StartingPoint

_FORMS: Final = (
    "earliest, latest, OFFSET, -N for the last N, @MILLISECONDS, or a time such as 2026-01-31T08:00Z"
)
_NAMED: Final = {"earliest": StartingPoint("earliest"), "latest": StartingPoint("latest")}


def parse_starting_point(text: str) -> StartingPoint:
    """Read one of the forms; `ValueError` names them all."""
    if text in _NAMED:
        return _NAMED[text]
    if re.fullmatch(r"[0-9]{1,19}", text):
        return StartingPoint("offset", int(text))
    if re.fullmatch(r"-[0-9]{1,19}", text):
        return StartingPoint("last", -int(text))
    if re.fullmatch(r"@[0-9]{1,19}", text):
        return StartingPoint("time", int(text[1:]))
    try:
        return StartingPoint("time", parse_iso(text))
    except (ValueError, OverflowError):
        raise ValueError(f"expected {_FORMS}, got {text!r}") from None


def parse_time(text: str) -> int:
    """Read a point in time, in milliseconds since 1970."""
    try:
        point = parse_starting_point(text)
    except ValueError:
        point = None
    if point is None or point.kind != "time":
        raise ValueError(f"expected a time such as 2026-01-31T08:00Z, or @MILLISECONDS, got {text!r}")
    return point.number


STARTING_POINT: Final = Parsed("WHERE", parse_starting_point)
TIME: Final = Parsed("TIME", parse_time)
