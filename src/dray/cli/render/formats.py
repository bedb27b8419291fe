"""Formats of output: aligned columns, times, durations and JSON."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

NOTHING: Final = "-"
"""Printed where there is no value."""
_WIDTH_MAX: Final = 60
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    nothing: str = NOTHING,
    width_max: int = _WIDTH_MAX,
) -> list[str]:
    """Return lines with aligned columns; a column of numbers, and of `nothing`, is aligned to the right.

    A cell longer than `width_max` is not truncated: it shifts the rest of its own line, and of no other.
    """
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [_width(head, cells, width_max) for head, *cells in zip(heads, *texts, strict=True)]
    right = [_are_numbers([row[number] for row in rows], nothing) for number in range(len(heads))]
    return [_line(cells, widths, right) for cells in [list(heads), *texts]]


def _width(head: str, cells: Sequence[str], width_max: int) -> int:
    return max([len(head), *(len(cell) for cell in cells if len(cell) <= width_max)])


def _are_numbers(cells: Sequence[object], nothing: str) -> bool:
    numbers = [isinstance(cell, int) for cell in cells]
    gaps = [cell == nothing for cell in cells]
    return any(numbers) and all(number or gap for number, gap in zip(numbers, gaps, strict=True))


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    columns = zip(cells, widths, right, strict=True)
    return "  ".join(cell.rjust(width) if on else cell.ljust(width) for cell, width, on in columns).rstrip()


def iso(ms: int) -> str:
    """Return a time in UTC, to the millisecond; a number beyond the calendar stays a number."""
    if ms < 0:
        return str(ms)
    try:
        return (_EPOCH + ms * _MS).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return str(ms)


def parse_iso(text: str) -> int:
    """Return the milliseconds of an ISO 8601 time; without a zone it is local. Raises `ValueError`."""
    return (datetime.fromisoformat(text).astimezone(UTC) - _EPOCH) // _MS


def duration(ms: int) -> str:
    """Return a duration in its largest unit."""
    seconds = max(0, ms) / 1000
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


def pretty_json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode()
