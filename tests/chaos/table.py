"""Summary table of a soak."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.chaos.experiment import Figures

_HEAD = ("part", "faults", "acknowledged", "in outages", "consumed", "violations", "seconds", "where")


@dataclass(frozen=True, slots=True)
class Row:
    """One part and its figures."""

    name: str
    figures: Figures
    seconds: float

    @property
    def violations(self) -> tuple[str, ...]:
        return self.figures.violations

    def cells(self) -> tuple[str, ...]:
        figures = self.figures
        where = ", ".join(f"{count} {what}" for what, count in sorted(figures.faults.items()))
        numbers = (
            *(figures.faults.total(), figures.acknowledged, figures.during_outages, figures.consumed),
            len(figures.violations),
        )
        return (self.name, *map(str, numbers), f"{self.seconds:.0f}", where)


def lines(rows: Iterable[Row]) -> list[str]:
    """Return the table, with numbers right-aligned."""
    cells = [_HEAD, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [_line(row, widths) for row in cells]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *numbers, last = row
    places = [first.ljust(widths[0])]
    places += [text.rjust(width) for text, width in zip(numbers, widths[1:-1], strict=True)]
    return "  ".join([*places, last])
