"""What is turned into tables, how much of it, and what is asked of Dray."""

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
    """How much is measured. `rounds` are counted, `warm_ups` come before them and are not."""

    rounds: int
    warm_ups: int
    large_records: int
    """Of 1 KiB, in each topic."""
    small_records: int
    """Of 100 bytes, in each topic."""

    @property
    def round_bytes(self) -> int:
        """What is written to each system in a round, at most."""
        return 2 * (self.large_records * LARGE + self.small_records * SMALL)


FULL: Final = Scale(rounds=5, warm_ups=2, large_records=1_600_000, small_records=10_000_000)
QUICK: Final = Scale(rounds=1, warm_ups=1, large_records=50_000, small_records=250_000)


@dataclass(frozen=True, slots=True)
class Case:
    """Records of one size, as their producer packs them."""

    size: int
    codec: str

    @property
    def name(self) -> str:
        return f"{_SIZES[self.size]}, {_CODECS[self.codec]}"

    def topic(self, turn: str) -> str:
        return f"table-{self.size}-{self.codec}-{turn}"

    def records(self, scale: Scale) -> int:
        return scale.large_records if self.size == LARGE else scale.small_records

    def measures(self, scale: Scale, seconds: float, cpu_s: float) -> list[tuple[Measure, float]]:
        """What a job tells."""
        records, by_bytes = self.records(scale), self.size == LARGE
        megabytes = records * self.size / 1e6
        told: list[tuple[Section, str, Bar | None, float]] = [
            (Section.TO_TABLE, "MB/s", _BY_BYTES if by_bytes else None, megabytes / seconds),
            (Section.TO_TABLE, "records/s", None if by_bytes else _BY_RECORDS, records / seconds),
            (Section.JOB_CPU, "s/GB", None, cpu_s / megabytes * 1000),
        ]
        return [(Measure(section, self.name, unit, bar), value) for section, unit, bar, value in told]


CASES: Final = [Case(size, codec) for size in (LARGE, SMALL) for codec in _CODECS]
