"""Run and report: few and many partitions side by side on each metadata store, then more broker processes."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from statistics import median

from benchmarks.bar_chart import Row, chart
from benchmarks.beside_kafka import Outcome
from benchmarks.beside_kafka.processes import BackgroundLoad
from benchmarks.beside_kafka.rounds import Progress
from benchmarks.growth import measures
from benchmarks.growth.backends import ETCD, KIT_OXIA, SQLITE, Backend, Opener, backends_here, sqlite
from benchmarks.growth.measures import CPU, FEW, RATE, Loads

_CALLERS = (1, 100)
_RATIO_BAR = 3.0
"""For the CPU time of a load that is spread over many partitions, on SQLite and on etcd."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What is measured, and how often the loads are repeated."""

    many: int
    loads: Loads
    rounds: int
    processes: Sequence[int]


FULL = Scale(10_000, Loads(records=200_000, paced=500, rate=100, idle_s=4.0), 3, (1, 2, 3))
QUICK = Scale(1_000, Loads(records=30_000, paced=100, rate=100, idle_s=1.0), 1, (1, 2))


def run(scale: Scale, *, directory: Path | None = None, progress: Progress = print) -> Outcome:
    """Measure with data under `directory`."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-growth-") as name:
        openers, left_out = backends_here()
        return Run(scale, Path(name), progress, openers).outcome(left_out)


class Run:
    """One run on these metadata stores."""

    def __init__(self, scale: Scale, directory: Path, progress: Progress, openers: Sequence[Opener]) -> None:
        self._scale = scale
        self._directory = directory
        self._progress = progress
        self._openers = openers
        self._plots: dict[str, list[Row]] = {}
        self._missed = 0

    def outcome(self, left_out: Sequence[str] = ()) -> Outcome:
        background, lines = BackgroundLoad(), list(left_out)
        for opener in self._openers:
            with opener(self._directory / "stores") as backend:
                lines += ["", *self._backend(backend)]
        with sqlite(self._directory) as backend:
            lines += ["", *self._processes(backend)]
        lines += ["", f"other processes used {background.cores():.1f} cores meanwhile: compare ratios only"]
        plots = {
            f"growth-{name}.svg": chart(title, unit, self._plots[title])
            for name, title, unit in (
                ("cpu", "produce", "CPU s/GB"),
                ("metadata", "Metadata of the topic", "ms"),
                ("restart", "restart to the first record", "s"),
            )
        }
        return Outcome(lines, plots, self._missed)

    def _backend(self, backend: Backend) -> list[str]:
        few, many = (self._cluster(backend, count) for count in (FEW, self._scale.many))
        loads = self._spread(backend)
        note = " (only the ratios mean something)" if backend.name == KIT_OXIA else ""
        head = f"{backend.name + note:58} {FEW:>12,} {self._scale.many:>12,} {'ratio':>7}"
        lines = [head, *[_line(name, few[name], many[name]) for name in few]]
        for name, values in loads[FEW].items():
            spread = loads[self._scale.many][name]
            ratio = median([_ratio(one, other) for one, other in zip(spread, values, strict=True)])
            lines.append(_line(f"{name}, partitions written to", median(values), median(spread), ratio))
            if name == CPU:
                lines += self._verdict(backend, ratio)
        self._plot(backend, few, many, loads)
        return [*lines, *self._commits(backend)]

    def _verdict(self, backend: Backend, ratio: float) -> list[str]:
        if backend.name not in (SQLITE, ETCD):
            return []
        self._missed += ratio > _RATIO_BAR
        verdict = "reached" if ratio <= _RATIO_BAR else "MISSED"
        return [f"    bar: at most {_RATIO_BAR:g} times as much CPU: {verdict}"]

    def _plot(
        self,
        backend: Backend,
        few: dict[str, float],
        many: dict[str, float],
        loads: dict[int, dict[str, list[float]]],
    ) -> None:
        names = f"{FEW} partitions", f"{self._scale.many:,} partitions"

        def add(title: str, *values: list[float]) -> None:
            row = Row(backend.name, dict(zip(names, values, strict=True)))
            self._plots.setdefault(title, []).append(row)

        add("produce", loads[FEW][CPU], loads[self._scale.many][CPU])
        add("Metadata of the topic", [few[measures.METADATA_MS]], [many[measures.METADATA_MS]])
        add("restart to the first record", [few[measures.RESTART]], [many[measures.RESTART]])

    def _cluster(self, backend: Backend, partitions: int) -> dict[str, float]:
        self._progress(f"{backend.name}: {partitions:,} partitions")
        home = self._home()
        return measures.cluster(measures.prepare(home, backend.url(home)), partitions, self._scale.loads)

    def _commits(self, backend: Backend) -> Iterator[str]:
        for callers in _CALLERS:
            home = self._home()
            home.mkdir()
            rate = measures.commits_per_s(backend.url(home), callers, self._scale.loads.idle_s)
            yield f"{f'commits/s of one process, {callers} at a time':58} {rate:12,.0f}"

    def _spread(self, backend: Backend) -> dict[int, dict[str, list[float]]]:
        self._progress(f"{backend.name}: a load on {FEW} of {self._scale.many:,} partitions, and on all")
        home = self._home()
        counts, scale = [FEW, self._scale.many], self._scale
        return measures.spread(measures.prepare(home, backend.url(home)), counts, scale.loads, scale.rounds)

    def _processes(self, backend: Backend) -> list[str]:
        lines = [f"{'broker processes on SQLite, a client for each':58} {RATE:>16} {CPU:>20}"]
        for count in self._scale.processes:
            self._progress(f"{count} broker processes")
            home = self._home()
            prepared = measures.prepare(home, backend.url(home), brokers=count)
            found = measures.processes(prepared, self._scale.loads, self._scale.rounds)
            lines.append(f"{count:<58} {median(found[RATE]):16,.1f} {median(found[CPU]):20,.2f}")
        return lines

    def _home(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._directory)) / "cluster"


def _ratio(one: float, other: float) -> float:
    """Return the ratio, or no number for a run so short that no processor time was counted."""
    return one / other if other else nan


def _line(name: str, few: float, many: float, ratio: float | None = None) -> str:
    if ratio is None and few:
        ratio = many / few
    return f"{name:58} {few:12,.2f} {many:12,.2f} " + ("      -" if ratio is None else f"{ratio:6.1f}x")
