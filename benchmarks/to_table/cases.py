"""Cases of the benchmark, their sizes, and the bars for Dray."""

from dataclasses import dataclass
from os import cpu_count
from typing import Final

from benchmarks.beside_kafka.loads import LARGE, SMALL
from benchmarks.beside_kafka.readings import Bar, Measure, Section

_SIZES: Final = {LARGE: "1 KiB", SMALL: "100 B"}
_CODECS: Final = {"none": "raw", "zstd": "zstd"}
_BY_BYTES: Final = Bar(3.0, beside=True)
_BY_RECORDS: Final = Bar(5.0, beside=True)

CORES: Final = cpu_count() or 1
PARTITIONS: Final = CORES
"""As many as cores: the Kafka source reads a partition with one task."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Size of a run. `rounds` are counted, the `warm_ups` before them are not."""

    rounds: int
    warm_ups: int
    large_records: int
    """Of 1 KiB, in each topic."""
    small_records: int
    """Of 100 bytes, in each topic."""

    @property
    def round_bytes(self) -> int:
        """Return the bytes written to each system in a round, at most."""
        return 2 * (self.large_records * LARGE + self.small_records * SMALL)


FULL: Final = Scale(rounds=4, warm_ups=1, large_records=1_600_000, small_records=10_000_000)
QUICK: Final = Scale(rounds=1, warm_ups=1, large_records=50_000, small_records=250_000)


@dataclass(frozen=True, slots=True)
class Case:
    """Records of one size and codec."""

    size: int
    codec: str

    @property
    def name(self) -> str:
        return f"{_SIZES[self.size]}, {_CODECS[self.codec]}"

    def topic(self, label: str) -> str:
        return f"table-{self.size}-{self.codec}-{label}"

    def records(self, scale: Scale) -> int:
        return scale.large_records if self.size == LARGE else scale.small_records

    def speeds(self, section: Section, scale: Scale, seconds: float) -> list[tuple[Measure, float]]:
        """Return the throughput of a job."""
        records, by_bytes = self.records(scale), self.size == LARGE
        measured: list[tuple[str, Bar | None, float]] = [
            ("MB/s", _BY_BYTES if by_bytes else None, self._megabytes(scale) / seconds),
            ("records/s", None if by_bytes else _BY_RECORDS, records / seconds),
        ]
        return [(Measure(section, self.name, unit, bar), value) for unit, bar, value in measured]

    def cost(self, scale: Scale, cpu_s: float) -> tuple[Measure, float]:
        return Measure(Section.JOB_CPU, self.name, "s/GB"), cpu_s / self._megabytes(scale) * 1000

    def _megabytes(self, scale: Scale) -> float:
        return self.records(scale) * self.size / 1e6


CASES: Final = [Case(size, codec) for size in (LARGE, SMALL) for codec in _CODECS]
