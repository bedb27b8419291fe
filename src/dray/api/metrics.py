"""What is counted of requests."""

from dataclasses import dataclass
from typing import Self

from prometheus_client import Histogram

from dray.observe import Metrics


@dataclass(frozen=True, slots=True)
class ApiMetrics:
    """Instruments of the Kafka APIs."""

    seconds: Histogram

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        api = metrics.room("api")
        return cls(seconds=api.latency("request", "Time from a request's arrival to its answer.", ["api"]))

    def served(self, api: str, seconds: float) -> None:
        self.seconds.labels(api).observe(seconds)
