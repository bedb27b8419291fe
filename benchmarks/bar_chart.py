"""Horizontal bar charts as SVG: medians as bars, single readings as dots, the target as a red line.

Equal figures give equal bytes, so a plot in git changes only when its figures do. Text is kept as text, which
keeps the files small and the labels searchable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from statistics import median
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_COLOURS: Final = ("#2a6fbb", "#a0a0a0", "#6aa84f")
_DOT: Final = "#202020"
_TARGET: Final = "#c0392b"
_INCHES_PER_BAR: Final = 0.21
_GAP: Final = 0.6
"""Between rows, in bars."""
_INCHES_AROUND: Final = 1.15
_STYLE: Final = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dray",
    "font.family": "sans-serif",
    "font.size": 9.0,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One measure: its readings by system, and the target of the first of them."""

    label: str
    readings: Mapping[str, Sequence[float]]
    target: float | None = None


def chart(title: str, unit: str, rows: Sequence[Row]) -> str:
    """Draw rows that share a unit as SVG."""
    svg = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dray", "font.size": 9.0}):
        draw(title, unit, rows).savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return svg.getvalue()


def draw(title: str, unit: str, rows: Sequence[Row]) -> Figure:
    """Draw rows that share a unit."""
    systems = list(dict.fromkeys(name for row in rows for name in row.readings))
    height = _INCHES_AROUND + _INCHES_PER_BAR * len(rows) * (len(systems) + _GAP)
    figure = Figure(figsize=(9.5, height), layout="constrained")
    axes = figure.add_subplot()
    for number, system in enumerate(systems):
        _bars(axes, rows, system, number, len(systems))
    _targets(axes, rows, len(systems))
    _dress(axes, f"{title}, {unit}", rows, len(systems))
    if len(systems) > 1:
        figure.legend(loc="outside upper right", ncols=len(systems), frameon=False)
    return figure


def _bars(axes: Axes, rows: Sequence[Row], system: str, number: int, systems: int) -> None:
    measured = [(at, row.readings[system]) for at, row in enumerate(rows) if row.readings.get(system)]
    places = [at * (systems + _GAP) + number for at, _ in measured]
    medians = [median(values) for _, values in measured]
    axes.barh(places, medians, height=0.9, color=_COLOURS[number], label=system)
    for place, middle, (_, values) in zip(places, medians, measured, strict=True):
        axes.plot(values, [place] * len(values), "o", color=_DOT, markersize=2)
        text = f"{middle:,.3g}" if middle < 100 else f"{middle:,.0f}"
        axes.annotate(text, (max(values), place), (5, 0), textcoords="offset points", va="center", fontsize=8)


def _targets(axes: Axes, rows: Sequence[Row], systems: int) -> None:
    for at, row in enumerate(rows):
        if row.target is not None:
            top = at * (systems + _GAP) - 0.6
            axes.plot([row.target] * 2, [top, top + systems + 0.2], color=_TARGET, linewidth=1.5)


def _dress(axes: Axes, title: str, rows: Sequence[Row], systems: int) -> None:
    axes.set_title(title, loc="left", fontweight="bold")
    middle = (systems - 1) / 2
    axes.set_yticks([at * (systems + _GAP) + middle for at in range(len(rows))], [row.label for row in rows])
    axes.invert_yaxis()
    axes.margins(x=0.09, y=0.01)
    axes.set_xlim(left=0)
    axes.grid(axis="x", color="#e4e4e4")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
