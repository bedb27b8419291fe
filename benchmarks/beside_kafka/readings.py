"""Readings of all rounds, and their medians, spreads, ratios and verdicts.

A ratio is taken within each round, and then the median of the ratios: both halves of a round share the load
of the rest of the machine, which two separate medians would not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median

from benchmarks.beside_kafka.servers import DRAY, KAFKA


class Section(Enum):
    """A section of the report."""

    THROUGHPUT = "throughput"
    CPU = "processor time of the server"
    LATENCY = "latency at a fixed rate"
    START = "start-up"
    MEMORY = "memory held"
    SERVER_CORES = "cores used by the server"
    CLIENT_CORES = "cores used by the client"
    TO_TABLE = "from a topic to a table"
    UNTUNED = "the same, Kafka's side with default settings"
    JOB_CPU = "processor time, brokers included"
    CATCH_UP = "catching up"


@dataclass(frozen=True, slots=True)
class Bar:
    """A target for our own value, or with `beside` for its ratio to theirs."""

    limit: float
    beside: bool = False
    at_most: bool = False

    def reached(self, value: float) -> bool:
        return value <= self.limit if self.at_most else value >= self.limit

    def missed_by(self, value: float) -> float:
        """Return the relative distance to the bar."""
        return abs(value / self.limit - 1)


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity read in every round."""

    section: Section
    name: str
    unit: str
    bar: Bar | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """Summary of several readings."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(median(values), min(values), max(values))


class Readings:
    """All readings of a run, in the order of their measures; bars apply to `ours`."""

    def __init__(self, ours: str = DRAY, theirs: str = KAFKA) -> None:
        self.ours = ours
        self.theirs = theirs
        self._values: dict[Measure, dict[str, list[float]]] = {}

    def add(self, server: str, measure: Measure, value: float) -> None:
        self._values.setdefault(measure, {}).setdefault(server, []).append(value)

    def measures(self, section: Section) -> list[Measure]:
        return [measure for measure in self._values if measure.section is section]

    def values(self, measure: Measure) -> dict[str, list[float]]:
        """Return the readings of each server, one per round."""
        return self._values[measure]

    def spread(self, measure: Measure, server: str) -> Spread | None:
        values = self._values[measure].get(server)
        return Spread.of(values) if values else None

    def ratios(self, measure: Measure) -> list[float]:
        """Return our reading over theirs per round; empty if one of them did not run."""
        ours, theirs = (self._values[measure].get(name, []) for name in (self.ours, self.theirs))
        return [our / their for our, their in zip(ours, theirs, strict=False) if their]

    def ratio(self, measure: Measure) -> Spread | None:
        ratios = self.ratios(measure)
        return Spread.of(ratios) if ratios else None

    def compared(self, measure: Measure) -> float | None:
        """Return the value that the bar applies to, if there is one."""
        if measure.bar is None:
            return None
        about = self.ratio(measure) if measure.bar.beside else self.spread(measure, self.ours)
        return None if about is None else about.median

    def missed(self) -> list[Measure]:
        """Return the measures whose bar was missed."""
        return [
            measure
            for measure in self._values
            if measure.bar is not None
            and (value := self.compared(measure)) is not None
            and not measure.bar.reached(value)
        ]
