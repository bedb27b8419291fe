"""Columns of text for people."""

from collections.abc import Sequence
from typing import Final

NOTHING: Final = "-"
"""What stands where there is no number."""
_WIDTH_MAX: Final = 60


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    nothing: str = NOTHING,
    width_max: int = _WIDTH_MAX,
) -> list[str]:
    """Return lines with aligned columns; a column of numbers, and of `nothing`, is aligned to the right.

    A cell longer than `width_max` is not cut: it pushes aside what follows in its own line, and in no other.
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
