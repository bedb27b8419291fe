"""Counters, gauges and histograms that cost next to nothing to count with.

Those of `prometheus_client` take a lock for every number, some 2 µs for one latency; these are plain
attributes, and a tenth of that. So they may only be used in the thread of the event loop, as everything is
that counts here. The library still does the rest: it asks for their families when somebody looks, and writes
them.

An instrument with labels is counted with through `labels(…)`, which returns the same child for the same
values; whoever counts often keeps the child.
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
    """What all kinds have in common: a name, a help text, and children by the values of their labels."""

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

    def forget(self, *values: str) -> None:
        """Show the child of these values no more; one that is not there is no fault."""
        self._children.pop(values, None)

    def collect(self) -> Iterator[F]:
        """Tell all values, as the library wants them."""
        family = self._family()
        if not self.label_names:
            self.tell(family, ())
        for values, child in self._children.items():
            child.tell(family, tuple(map(str, values)))
        yield family

    @abstractmethod
    def tell(self, family: F, values: tuple[str, ...]) -> None:
        """Add what was counted here to a family."""

    @abstractmethod
    def _family(self) -> F: ...

    def _child(self) -> Self:
        return type(self)(self.name, self.help_text)


class Counter(Instrument[CounterMetricFamily]):
    """A number that only grows."""

    kind = "counter"

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help_text, labels)
        self._value = 0.0

    def inc(self, amount: float = 1.0) -> None:
        self._value += amount

    def tell(self, family: CounterMetricFamily, values: tuple[str, ...]) -> None:
        family.add_metric(values, self._value)

    def _family(self) -> CounterMetricFamily:
        return CounterMetricFamily(self.name, self.help_text, labels=self.label_names)


class Gauge(Instrument[GaugeMetricFamily]):
    """A number that is set, or asked for when somebody looks."""

    kind = "gauge"

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help_text, labels)
        self._ask: Callable[[], float] = float

    def set(self, value: float) -> None:
        self._ask = lambda: value

    def ask(self, ask: Callable[[], float]) -> None:
        """Have the number asked for whenever somebody looks."""
        self._ask = ask

    def tell(self, family: GaugeMetricFamily, values: tuple[str, ...]) -> None:
        family.add_metric(values, self._ask())

    def _family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self.name, self.help_text, labels=self.label_names)


class Histogram(Instrument[HistogramMetricFamily]):
    """How many values there were up to each bound, and their sum."""

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

    def tell(self, family: HistogramMetricFamily, values: tuple[str, ...]) -> None:
        bounds = [*map(repr, self._bounds), "+Inf"]
        buckets = list(zip(bounds, accumulate(self._counts), strict=True))
        family.add_metric(values, buckets=buckets, sum_value=self._sum)

    def _family(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self.name, self.help_text, labels=self.label_names)

    def _child(self) -> Self:
        return type(self)(self.name, self.help_text, bounds=self._bounds)
