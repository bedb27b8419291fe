"""Metrics of requests.

They are labelled by API, never by client or topic, whose number is unbounded. The instruments of the hot path
are looked up once for each API.
"""

from dataclasses import dataclass, field
from typing import Self

from dray.api.error_codes import codes_of, name_of
from dray.observe import Counter, Gauge, Histogram, Metrics
from dray.wire import Api, Message


@dataclass(frozen=True, slots=True)
class FetchSessionMetrics:
    """Instruments of the fetch sessions."""

    sessions: Gauge
    partitions: Gauge
    evictions: Counter

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        fetch = metrics.package("fetch_sessions")
        return cls(
            sessions=fetch.gauge("open", "Open fetch sessions."),
            partitions=fetch.gauge("partitions", "Partitions in all fetch sessions together."),
            evictions=fetch.counter("evictions", "Fetch sessions that were evicted for a new one."),
        )


class InstrumentsOfApi:
    """The instruments of one API."""

    __slots__ = (
        "_codes",
        "_errors",
        "_name",
        "_requests",
        "_versions",
        "processing",
        "received",
        "seconds",
        "sent",
    )

    def __init__(self, api: Api, metrics: "ApiMetrics") -> None:
        self._name = api.name
        self._codes = codes_of(api.response)
        self._errors = metrics.errors
        self._requests = metrics.requests
        self._versions: dict[int, Counter] = {}
        self.seconds = metrics.seconds.labels(api.name)
        self.processing = metrics.processing_seconds.labels(api.name)
        self.received = metrics.received_bytes.labels(api.name)
        self.sent = metrics.sent_bytes.labels(api.name)

    def begun(self, version: int, size_bytes: int) -> None:
        """Count a request."""
        counter = self._versions.get(version)
        if counter is None:
            counter = self._versions[version] = self._requests.labels(self._name, str(version))
        counter.inc()
        self.received.inc(size_bytes)

    def answered(self, response: Message) -> None:
        """Count the error codes in a response."""
        for code in self._codes(response):
            self._errors.labels(self._name, name_of(code)).inc()


@dataclass(frozen=True, slots=True)
class ApiMetrics:
    """Instruments of the Kafka APIs."""

    requests: Counter
    errors: Counter
    seconds: Histogram
    processing_seconds: Histogram
    received_bytes: Counter
    sent_bytes: Counter
    throttled_requests: Counter
    throttle_seconds: Counter
    _of: dict[Api, InstrumentsOfApi] = field(default_factory=dict)

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        api = metrics.package("api")
        return cls(
            requests=api.counter("requests", "Requests, by API and version.", ["api", "version"]),
            errors=api.counter(
                "errors",
                "Error codes in responses, by API and code; a response may have one for each partition.",
                ["api", "code"],
            ),
            seconds=api.latency(
                "request",
                "Time from the start of a request to its response; for a produce, until it is durable. "
                "Includes waiting for earlier requests of the connection and long polls.",
                ["api"],
            ),
            processing_seconds=api.latency(
                "processing",
                "Time from the completion of all earlier requests of the connection to the response, without "
                "long polls: read latency of a fetch, remaining wait of a produce.",
                ["api"],
            ),
            received_bytes=api.counter("received_bytes", "Request bytes received.", ["api"]),
            sent_bytes=api.counter(
                "sent_bytes",
                "Response bytes, including those for clients that disconnected.",
                ["api"],
            ),
            throttled_requests=api.counter(
                "throttled_requests",
                "Requests after which the client was throttled, by the quota with the longest throttle time.",
                ["quota"],
            ),
            throttle_seconds=api.counter(
                "throttle_seconds", "Time for which clients were throttled, by quota.", ["quota"]
            ),
        )

    def throttled(self, quota: str, seconds: float) -> None:
        """Count a request after which the client is throttled."""
        self.throttled_requests.labels(quota).inc()
        self.throttle_seconds.labels(quota).inc(seconds)

    def of(self, api: Api) -> InstrumentsOfApi:
        found = self._of.get(api)
        if found is None:
            found = self._of[api] = InstrumentsOfApi(api, self)
        return found
