"""Timeline of an experiment as SVG: records per second, with the faults as bars."""

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.chaos.cluster.recovery import Injected

Rates = Mapping[str, Sequence[float]]
"""The times of records, by the name of a line."""

_BINS: Final = 300
_BIN_S_MIN: Final = 0.5
_LINES: Final = ("#2a6fbb", "#6aa84f", "#8e5ea2", "#a0a0a0")
_FAULT: Final = "#c0392b"


def timeline(panels: Mapping[str, Rates], faults: Sequence[Injected], began: float, ended: float) -> str:
    """Draw one panel for each group of lines, above the faults."""
    svg = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dray", "font.size": 9.0}):
        fault_inches = 0.5 + 0.17 * len(faults)
        figure = Figure(figsize=(12, 1.6 * len(panels) + fault_inches), layout="constrained")
        rows = figure.subplots(
            len(panels) + 1, 1, sharex=True, height_ratios=[1.6] * len(panels) + [fault_inches]
        )
        for axes, (title, rates) in zip(rows, panels.items(), strict=False):
            _panel(axes, title, rates, began, ended)
            _shade(axes, faults, began)
        _faults(rows[-1], faults, began, ended)
        rows[-1].set_xlim(0, ended - began)
        rows[-1].set_xlabel("seconds")
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    text = svg.getvalue()
    return text[text.index("<svg") :]


def _panel(axes: Axes, title: str, rates: Rates, began: float, ended: float) -> None:
    bin_s = max(_BIN_S_MIN, (ended - began) / _BINS)
    count = int((ended - began) / bin_s) + 1
    for (name, times), color in zip(rates.items(), _LINES, strict=False):
        counts = [0] * count
        for time in times:
            if began <= time <= ended:
                counts[int((time - began) / bin_s)] += 1
        axes.plot(
            [number * bin_s for number in range(count)],
            [number / bin_s for number in counts],
            drawstyle="steps-post",
            linewidth=0.9,
            color=color,
            label=name,
        )
    axes.set_title(f"{title}, records per second", loc="left", fontweight="bold")
    axes.set_ylim(bottom=0)
    axes.legend(
        loc="lower right", bbox_to_anchor=(1, 1), borderpad=0, ncols=len(rates), frameon=False, fontsize=8
    )
    axes.grid(axis="y", color="#e4e4e4")
    axes.spines[["top", "right"]].set_visible(False)


def _shade(axes: Axes, faults: Sequence[Injected], began: float) -> None:
    for one in faults:
        axes.axvspan(one.since - began, one.until - began, color=_FAULT, alpha=0.08, linewidth=0)


def _faults(axes: Axes, faults: Sequence[Injected], began: float, ended: float) -> None:
    for row, one in enumerate(faults):
        since, until = one.since - began, one.until - began
        axes.barh(row, until - since, left=since, height=0.8, color=_FAULT, alpha=0.6)
        is_late = until > 0.8 * (ended - began)
        axes.annotate(
            f"{one.fault.kind}: {one.target}",
            (since if is_late else until, row),
            (-4 if is_late else 4, 0),
            textcoords="offset points",
            ha="right" if is_late else "left",
            va="center",
            fontsize=7,
        )
    axes.set_title("faults", loc="left", fontweight="bold")
    axes.set_yticks([])
    axes.invert_yaxis()
    axes.spines[["top", "right", "left"]].set_visible(False)
