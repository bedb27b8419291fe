"""What is counted of requests.

Everything is by API and none of it by client or topic, whose number has no bound. What is counted for every
request goes to instruments that are looked up once for each API.
"""

from dataclasses import dataclass, field
from typing import Self

from dray.api.error_codes import codes_of
from dray.observe import Counter, Histogram, Metrics
from dray.wire import Api, ErrorCode, Message

_NAMES = {int(code): code.name for code in ErrorCode}


class CountedApi:
    """The instruments of one API."""

    __slots__ = (
        "_codes",
        "_errors",
        "_name",
        "_requests",
        "_versions",
        "answer",
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
        self.answer = metrics.answer_seconds.labels(api.name)
        self.received = metrics.received_bytes.labels(api.name)
        self.sent = metrics.sent_bytes.labels(api.name)

    def begun(self, version: int, size_bytes: int) -> None:
        counted = self._versions.get(version)
        if counted is None:
            counted = self._versions[version] = self._requests.labels(self._name, str(version))
        counted.inc()
        self.received.inc(size_bytes)

    def answered(self, response: Message) -> None:
        """Count the errors in an answer, one for each place where it tells of one."""
        for code in self._codes(response):
            self._errors.labels(self._name, _NAMES.get(code, str(code))).inc()


@dataclass(frozen=True, slots=True)
class ApiMetrics:
    """Instruments of the Kafka APIs."""

    requests: Counter
    errors: Counter
    seconds: Histogram
    answer_seconds: Histogram
    received_bytes: Counter
    sent_bytes: Counter
    _of: dict[Api, CountedApi] = field(default_factory=dict)

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        api = metrics.room("api")
        return cls(
            requests=api.counter(
                "requests", "Requests that were begun, by API and version.", ["api", "version"]
            ),
            errors=api.counter(
                "errors",
                "Error codes in answers, by API and code; an answer may tell of one for each partition.",
                ["api", "code"],
            ),
            seconds=api.latency(
                "request",
                "Time from when a request is begun to its answer: of a produce, until it is durable. "
                "Waiting for its turn is in it, and so is a fetch's waiting for records (long poll).",
                ["api"],
            ),
            answer_seconds=api.latency(
                "answer",
                "Time to make an answer once it is its turn, without a fetch's waiting for records (long "
                "poll): the latency of reading. Of a produce, what is left to wait until it is durable.",
                ["api"],
            ),
            received_bytes=api.counter("received_bytes", "Bytes of requests.", ["api"]),
            sent_bytes=api.counter(
                "sent_bytes",
                "Bytes of answers that were made, also for clients that have left meanwhile.",
                ["api"],
            ),
        )

    def of(self, api: Api) -> CountedApi:
        counted = self._of.get(api)
        if counted is None:
            counted = self._of[api] = CountedApi(api, self)
        return counted
