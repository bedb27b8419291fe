"""The closing table of a soak."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.chaos.ordeal import Figures

_HEAD = ("part", "faults", "acknowledged", "while away", "followed", "violations", "seconds", "where")


@dataclass(frozen=True, slots=True)
class Row:
    """One part and what came of it."""

    name: str
    figures: Figures
    seconds: float

    @property
    def wrong(self) -> tuple[str, ...]:
        return self.figures.wrong

    def cells(self) -> tuple[str, ...]:
        told = self.figures
        where = ", ".join(f"{count} {what}" for what, count in sorted(told.faults.items()))
        numbers = (told.faults.total(), told.acknowledged, told.meanwhile, told.followed, len(told.wrong))
        return (self.name, *map(str, numbers), f"{self.seconds:.0f}", where)


def lines(rows: Iterable[Row]) -> list[str]:
    """Return the table, figures to the right."""
    cells = [_HEAD, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [_line(row, widths) for row in cells]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *numbers, last = row
    places = [first.ljust(widths[0])]
    places += [text.rjust(width) for text, width in zip(numbers, widths[1:-1], strict=True)]
    return "  ".join([*places, last])
