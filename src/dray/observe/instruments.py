"""Counters, gauges and histograms without locks.

Those of `prometheus_client` take a lock for every update, some 2 µs for one latency; these are plain
attributes and cost a tenth of that. They may therefore be used only in the thread of the event loop. The
library still collects their metric families and renders them.

An instrument with labels is updated through `labels(…)`, which returns the same child for the same values;
hot paths keep the child.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import ClassVar, Generic, Self, TypeVar

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

F = TypeVar("F", bound=Metric)


class Instrument(ABC, Generic[F]):
    """Base of all instruments: a name, a help text, and a child for each set of label values."""

    kind: ClassVar[str]

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.help_text = help_text
        self.label_names = tuple(labels)
        self._children: dict[tuple[str, ...], Self] = {}

    def labels(self, *values: str) -> Self:
        child = self._children.get(values)
        if child is None:
            if len(values) != len(self.label_names):
                raise ValueError(f"{self.name} has the labels {self.label_names}, got {values}")
            child = self._children[values] = self._child()
        return child

    def remove(self, *values: str) -> None:
        """Remove the child with these label values, if there is one."""
        self._children.pop(values, None)

    def collect(self) -> Iterator[F]:
        """Return all samples as the library's metric family."""
        family = self._family()
        if not self.label_names:
            self.add_samples(family, ())
        for values, child in self._children.items():
            child.add_samples(family, tuple(map(str, values)))
        yield family

    @abstractmethod
    def add_samples(self, family: F, values: tuple[str, ...]) -> None:
        """Add the value of this instrument to its family, under these label values."""

    @abstractmethod
    def _family(self) -> F: ...

    def _child(self) -> Self:
        return type(self)(self.name, self.help_text)


class Counter(Instrument[CounterMetricFamily]):
    """A value that only increases."""

    kind = "counter"

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help_text, labels)
        self._value = 0.0

    def inc(self, amount: float = 1.0) -> None:
        self._value += amount

    def add_samples(self, family: CounterMetricFamily, values: tuple[str, ...]) -> None:
        family.add_metric(values, self._value)

    def _family(self) -> CounterMetricFamily:
        return CounterMetricFamily(self.name, self.help_text, labels=self.label_names)


class Gauge(Instrument[GaugeMetricFamily]):
    """A value that is set, or computed when metrics are collected."""

    kind = "gauge"

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help_text, labels)
        self._function: Callable[[], float] = float

    def set(self, value: float) -> None:
        self._function = lambda: value

    def set_function(self, function: Callable[[], float]) -> None:
        """Call `function` for the value whenever metrics are collected."""
        self._function = function

    def add_samples(self, family: GaugeMetricFamily, values: tuple[str, ...]) -> None:
        family.add_metric(values, self._function())

    def _family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self.name, self.help_text, labels=self.label_names)


class Histogram(Instrument[HistogramMetricFamily]):
    """The number of observed values up to each bound, and their sum."""

    kind = "histogram"

    def __init__(
        self, name: str, help_text: str, labels: Sequence[str] = (), *, bounds: Sequence[float] = ()
    ) -> None:
        super().__init__(name, help_text, labels)
        self._bounds = tuple(map(float, bounds))
        self._counts = [0] * (len(self._bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def add_samples(self, family: HistogramMetricFamily, values: tuple[str, ...]) -> None:
        bounds = [*map(repr, self._bounds), "+Inf"]
        buckets = list(zip(bounds, accumulate(self._counts), strict=True))
        family.add_metric(values, buckets=buckets, sum_value=self._sum)

    def _family(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self.name, self.help_text, labels=self.label_names)

    def _child(self) -> Self:
        return type(self)(self.name, self.help_text, bounds=self._bounds)
