"""Start and end positions of a read, as options give them: by name, by offset or by time. Pure.

Syntax and JSON are those of Spark's Kafka source: `earliest`, `latest`, or an object with an offset per
partition, -2 for the earliest and -1 for the latest. The object may be nested in another one under the
topic's name, as it is there.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from dray.spark.errors import InvalidOption

OFFSET_MAX: Final = 2**63 - 1
TIME_MS_MAX: Final = 253_402_300_799_999
"""The end of the year 9999."""
_EARLIEST: Final = -2
_LATEST: Final = -1


@dataclass(frozen=True, slots=True)
class Earliest:
    """The log start offset."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The high watermark at planning."""


@dataclass(frozen=True, slots=True)
class AtOffset:
    """This offset, whether or not it is in the log."""

    offset: int


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record with this timestamp or a later one; the end if there is none."""

    time_ms: int


Position = Earliest | Latest | AtOffset | AtTime


@dataclass(frozen=True, slots=True)
class Positions:
    """A position for every partition: the same for all, or one per named partition."""

    everywhere: Position | None = None
    each: Mapping[int, Position] | None = None

    def of(self, partition: int) -> Position | None:
        """Return where the partition begins or ends; None if it was left out."""
        return self.everywhere if self.each is None else self.each.get(partition)


def read_offsets(option: str, text: str, topic: str) -> Positions:
    """Parse `earliest`, `latest` or JSON."""
    words: dict[str, Position] = {"earliest": Earliest(), "latest": Latest()}
    if text.strip().lower() in words:
        return Positions(words[text.strip().lower()])
    return Positions(
        each={
            _partition(option, key): _offset(option, key, value)
            for key, value in _json(option, text, topic).items()
        }
    )


def read_time(option: str, text: str) -> Positions:
    """Parse milliseconds since 1970, or an ISO 8601 time with a time zone."""
    text = text.strip()
    time_ms = int(text) if re.fullmatch(r"[0-9]{1,18}", text) else _iso_ms(option, text)
    if not 0 <= time_ms <= TIME_MS_MAX:
        raise InvalidOption(f"{option} is {text!r}; expected a time from 1970 to the year 9999")
    return Positions(AtTime(time_ms))


def _iso_ms(option: str, text: str) -> int:
    allowed = "milliseconds since 1970, or an ISO 8601 time with a zone such as 2026-01-02T03:04:05Z"
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidOption(f"{option} is {text!r}; expected {allowed}") from None
    if found.tzinfo is None:
        raise InvalidOption(f"{option} is {text!r}, which has no zone; expected {allowed}")
    since = found - datetime(1970, 1, 1, tzinfo=UTC)
    # Rounded up to milliseconds: no record before the given time may be read.
    return -((since.days * 86_400_000_000 + since.seconds * 1_000_000 + since.microseconds) // -1000)


def _json(option: str, text: str, topic: str) -> Mapping[str, object]:
    try:
        found = json.loads(text, object_pairs_hook=lambda pairs: _unique(option, pairs))
    except (json.JSONDecodeError, RecursionError):
        raise InvalidOption(
            f'{option} is {text[:80]!r}; expected earliest, latest, or JSON such as {{"0": 23, "1": -2}}'
        ) from None
    if isinstance(found, dict) and len(found) == 1 and isinstance(inner := found.get(topic), dict):
        found = inner
    if not isinstance(found, dict) or not found:
        raise InvalidOption(f'{option} is {text[:80]!r}; expected an object such as {{"0": 23, "1": -2}}')
    return found


def _unique(option: str, pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidOption(f"{option} names a partition twice")
    return found


def _partition(option: str, key: str) -> int:
    if not re.fullmatch(r"0|[1-9][0-9]{0,8}", key):
        raise InvalidOption(f"{option} names {key[:80]!r}, which is not a partition number")
    return int(key)


def _offset(option: str, key: str, value: object) -> Position:
    if not isinstance(value, int) or isinstance(value, bool) or not _EARLIEST <= value <= OFFSET_MAX:
        raise InvalidOption(
            f"{option} gives partition {key} {str(value)[:80]!r}; expected an offset, -2 for the earliest "
            "or -1 for the latest"
        )
    if value == _EARLIEST:
        return Earliest()
    return Latest() if value == _LATEST else AtOffset(value)
