"""Columns of text for people."""

from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return lines with aligned columns; a column of numbers is aligned to the right."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]
    right = [bool(rows) and all(isinstance(row[number], int) for row in rows) for number in range(len(heads))]
    return [_line(cells, widths, right) for cells in [list(heads), *texts]]


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    columns = zip(cells, widths, right, strict=True)
    return "  ".join(cell.rjust(width) if on else cell.ljust(width) for cell, width, on in columns).rstrip()
