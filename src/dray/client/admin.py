"""Administration of a cluster: connecting, waiting for results and retrying.

A first contact that fails is not retried: a user who forgot to start a broker should learn it at once. Later
requests are retried within the time limit if a broker reports that it cannot serve them at the moment. A
change whose connection broke is not repeated: it may have happened.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from dray.client.config import ClientConfig
from dray.client.connections import ConnectionErrors
from dray.client.errors import (
    ClientError,
    InvalidProperties,
    Unavailable,
    UnknownTopic,
    Unreachable,
    client_error,
)

K = TypeVar("K")
T = TypeVar("T")

_POLL_S: Final = 0.02
_PAUSE_S: Final = 0.1
_LOG_INFO: Final = 6
_GRACE_S: Final = 5.0
"""librdkafka ends requests by itself at the time limit."""


class Admin:
    """An administrative client; made by `connect`."""

    def __init__(self, config: ClientConfig) -> None:
        self.config = config
        self._errors = ConnectionErrors()
        properties = config.properties() | {"log_level": _LOG_INFO, "error_cb": self._errors.on_error}
        try:
            self.client = AdminClient(properties, logger=self._errors)
        except KafkaException as error:
            raise InvalidProperties(error.args[0].str()) from error

    @classmethod
    def connect(cls, config: ClientConfig) -> "Admin":
        """Contact the cluster; raises `Unreachable` as soon as every bootstrap address has failed."""
        admin = cls(config)
        admin._check_reachable()
        return admin

    def wait(self, future: "Future[T]", subject: str) -> T:
        """Return a result, or raise the error of `subject`."""
        try:
            return future.result(self.config.timeout_s + _GRACE_S)
        except KafkaException as error:
            raise self._error(error.args[0], subject) from error
        except TimeoutError:
            raise self._no_response(subject) from None

    def wait_each(self, futures: Mapping[K, "Future[T]"], subject: Callable[[K], str]) -> dict[K, T]:
        """Return every result by its key, or raise the first error."""
        return {key: self.wait(future, subject(key)) for key, future in futures.items()}

    def retry(self, operation: Callable[[], T], *, unknown_topic: bool = False) -> T:
        """Repeat an operation that a broker cannot serve at the moment, within the time limit.

        With `unknown_topic`, an unknown topic is also retried, for as long as it takes a new one to be known.
        """
        waited_s = 0.0
        while True:
            try:
                return operation()
            except Unavailable:
                if waited_s >= self.config.timeout_s:
                    raise
            except UnknownTopic:
                if not unknown_topic or waited_s >= self.config.metadata_propagation_s:
                    raise
            self.client.poll(_PAUSE_S)
            waited_s += _PAUSE_S

    @property
    def connection_problem(self) -> str:
        """Return the last failed connection as the end of a message, or nothing."""
        self.client.poll(0)  # takes the reports
        return "" if self._errors.last is None else f": {self._errors.last}"

    @property
    def options(self) -> dict[str, Any]:
        """Return the time limit of a request, as librdkafka takes it."""
        return {"request_timeout": self.config.timeout_s}

    def _check_reachable(self) -> None:
        found = self.client.describe_cluster(**self.options)
        while not self._errors.all_down:
            try:
                found.result(_POLL_S)
            except TimeoutError:
                self.client.poll(0)
            except KafkaException:
                break
            else:
                return
        reasons = "; ".join(dict.fromkeys(self._errors.reasons))
        reasons = reasons or f"no response within {self.config.timeout_s:g} s"
        raise Unreachable(
            f"cannot reach a broker at {self.config.bootstrap}: is `dray up` running? ({reasons})"
        )

    def _error(self, error: KafkaError, subject: str) -> ClientError:
        if error.code() == KafkaError._TIMED_OUT:  # noqa: SLF001 - public, see `errors`
            return self._no_response(subject)
        return client_error(error, subject, self.connection_problem if error.code() < 0 else "")

    def _no_response(self, subject: str) -> Unreachable:
        limit = f"{self.config.timeout_s:g} s"
        return Unreachable(f"{subject}: no response within {limit}{self.connection_problem}")
