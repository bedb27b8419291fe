"""Prometheus metrics, without a global registry.

Each package lists its instruments in one frozen dataclass and makes them from a `Metrics` object:

    @dataclass(frozen=True, slots=True)
    class FlushMetrics:
        latency: Histogram
        size: Histogram
        retries: Counter

        @classmethod
        def on(cls, metrics: Metrics) -> Self:
            log = metrics.package("log")
            return cls(
                latency=log.latency("flush", "Time from seal to commit of a WAL object."),
                size=log.sizes("flush", "Size of WAL objects."),
                retries=log.counter("commit_retries", "Commits retried after a conflict."),
            )

Names are `dray_<package>_<what>_<unit>`: base units only (seconds, bytes), counters end in `_total`, a gauge
of things names the things (`dray_net_open_connections`). `PackageMetrics` enforces this, and is the only way
to make an instrument. Durations are measured by the caller with its `Clock`.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from dray.observe.instruments import Counter, Gauge, Histogram, Instrument

AnyInstrument = TypeVar("AnyInstrument", bound=Instrument[Any])

LATENCY_SECONDS: Final = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
SIZE_BYTES: Final = tuple(float(4**power) for power in range(3, 16))
"""64 bytes to 1 GiB, each bound four times the previous one."""

_NAME: Final = re.compile(r"dray(_[a-z][a-z0-9]*){2,}")
_WRONG_UNIT: Final = re.compile(
    r"_(ms|us|ns|milli\w*|minutes|hours|[km]i?b|percent)(?=_|$)|_(count|sum|bucket|total_total)$"
)


class Metrics:
    """All instruments of one process, or of one test."""

    content_type: Final = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self.instruments: list[Instrument[Any]] = []
        """In the order of registration."""

    def package(self, name: str) -> "PackageMetrics":
        return PackageMetrics(self, name)

    def add(self, instrument: AnyInstrument) -> AnyInstrument:
        """Register an instrument; raises `ValueError` if the name is taken."""
        self.registry.register(instrument)
        self.instruments.append(instrument)
        return instrument

    def add_process(self) -> None:
        """Add metrics of the process: memory, file descriptors, garbage collection, Python version."""
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format, for `/metrics`."""
        return generate_latest(self.registry)


class PackageMetrics:
    """Makes the instruments of one package; a name can be used once."""

    def __init__(self, metrics: Metrics, package: str) -> None:
        self._metrics = metrics
        self._package = package

    def counter(self, what: str, help_text: str, labels: Sequence[str] = ()) -> Counter:
        return self._metrics.add(Counter(self._name(f"{what}_total", help_text), help_text, labels))

    def gauge(self, what: str, help_text: str, labels: Sequence[str] = ()) -> Gauge:
        """Make a gauge; `what` ends with a base unit or with what is counted."""
        return self._metrics.add(Gauge(self._name(what, help_text), help_text, labels))

    def latency(self, what: str, help_text: str, labels: Sequence[str] = ()) -> Histogram:
        """Make a histogram of seconds, from 0.1 ms to 30 s."""
        return self._histogram(f"{what}_seconds", help_text, labels, LATENCY_SECONDS)

    def sizes(self, what: str, help_text: str, labels: Sequence[str] = ()) -> Histogram:
        """Make a histogram of bytes, from 64 B to 1 GiB."""
        return self._histogram(f"{what}_bytes", help_text, labels, SIZE_BYTES)

    def _histogram(
        self, what: str, help_text: str, labels: Sequence[str], bounds: Sequence[float]
    ) -> Histogram:
        name = self._name(what, help_text)
        return self._metrics.add(Histogram(name, help_text, labels, bounds=bounds))

    def _name(self, what: str, help_text: str) -> str:
        name = f"dray_{self._package}_{what}"
        if violations := naming_violations(name, help_text):
            raise ValueError(f"{name}: {'; '.join(violations)}")
        return name


def naming_violations(name: str, help_text: str) -> list[str]:
    """Return which rules for names and help texts a metric breaks."""
    violations = []
    if not _NAME.fullmatch(name):
        violations.append("expected a name like dray_<package>_<what>_<unit>, in lower case")
    if _WRONG_UNIT.search(name):
        violations.append(
            "expected base units (seconds, bytes, ratio) and no suffix that Prometheus adds itself"
        )
    if len(help_text.split()) < 2 or not help_text.endswith("."):
        violations.append("expected a help text that is a sentence")
    return violations
