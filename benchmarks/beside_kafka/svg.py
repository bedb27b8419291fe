"""A chart of horizontal bars as SVG: medians as bars, every reading as a dot, what is asked for as a line.

Written by hand because it is all we draw: no plotting library to lock, and the same figures always give the
same bytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import median

_WIDTH = 860
_LABELS = 330
_RIGHT = 90
_TOP = 58
_BAR = 13
_GAP = 12
_TICKS = 5
_COLOURS = ("#2a6fbb", "#a0a0a0")
_DOTS = ("#123a66", "#505050")
_ASKED = "#c0392b"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was read: readings by who was read, and what is asked of the first of them."""

    label: str
    readings: Mapping[str, Sequence[float]]
    asked: float | None = None


def chart(title: str, unit: str, rows: Sequence[Row]) -> str:
    """Draw rows that share a unit."""
    names = list(dict.fromkeys(name for row in rows for name in row.readings))
    drawing = _Drawing(names, _nice(_largest(rows)))
    for row in rows:
        drawing.row(row)
    return drawing.finish(f"{title}, {unit}")


class _Drawing:
    """Goes down the page, row by row."""

    def __init__(self, names: Sequence[str], most: float) -> None:
        self._names = names
        self._most = most
        self._y = _TOP
        self._body: list[str] = []

    def row(self, row: Row) -> None:
        top = self._y
        for name in self._names:
            if name in row.readings:
                self._bar(row.readings[name], self._names.index(name))
            self._y += _BAR
        middle = (top + self._y) / 2 + 4
        self._body.append(_text(_LABELS - 8, middle, row.label, "end"))
        if row.asked is not None:
            self._body.append(_upright(self._x(row.asked), top - 3, self._y + 3, _ASKED))
        self._y += _GAP

    def finish(self, title: str) -> str:
        head = [_text(8, 18, title, "start", bold=True), *self._legend(), *self._grid()]
        size = f'width="{_WIDTH}" height="{self._y + 8}"'
        font = 'font-family="sans-serif" font-size="12"'
        opening = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>',
            f'<rect {size} fill="#ffffff"/>',
        ]
        return "\n".join([*opening, *head, *self._body, "</svg>\n"])

    def _bar(self, values: Sequence[float], series: int) -> None:
        middle = median(values)
        end, y = self._x(middle), self._y
        self._body.append(
            f'<rect x="{_LABELS}" y="{y}" width="{end - _LABELS:.1f}" height="{_BAR - 1}" '
            f'fill="{_COLOURS[series]}"/>'
        )
        for value in values:
            self._body.append(
                f'<circle cx="{self._x(value):.1f}" cy="{y + _BAR / 2:.1f}" r="2" fill="{_DOTS[series]}"/>'
            )
        right = self._x(max(values)) + 6
        self._body.append(_text(right, y + _BAR - 3, f"{middle:,.3g}" if middle < 100 else f"{middle:,.0f}"))

    def _legend(self) -> list[str]:
        drawn = []
        for number, name in enumerate(self._names):
            x = _LABELS + number * 130
            drawn.append(f'<rect x="{x}" y="27" width="10" height="10" fill="{_COLOURS[number]}"/>')
            drawn.append(_text(x + 15, 36, name))
        return drawn

    def _grid(self) -> list[str]:
        drawn = []
        for tick in range(_TICKS + 1):
            value = self._most * tick / _TICKS
            x = self._x(value)
            drawn.append(_upright(x, _TOP - 6, self._y, "#e4e4e4"))
            drawn.append(_text(x, _TOP - 9, f"{value:,.10g}", "middle"))
        return drawn

    def _x(self, value: float) -> float:
        return _LABELS + (_WIDTH - _LABELS - _RIGHT) * value / self._most


def _largest(rows: Sequence[Row]) -> float:
    read = (value for row in rows for values in row.readings.values() for value in values)
    return max([*read, *(row.asked for row in rows if row.asked is not None)])


def _nice(value: float) -> float:
    """The next number above that divides well into the ticks."""
    power = 1.0
    while power * 10 < value:
        power *= 10
    while power > value:
        power /= 10
    return next(power * step for step in (1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10) if power * step >= value)


def _text(x: float, y: float, text: str, anchor: str = "start", *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'


def _upright(x: float, top: float, bottom: float, colour: str) -> str:
    return f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}" stroke="{colour}" stroke-width="1.5"/>'
