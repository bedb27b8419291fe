"""Client errors, sorted by what the caller must do.

ClientError
├── Unreachable        no broker could be reached, or none answered in time: fix the address, or retry
├── BrokerError        a broker rejected the request: fix the request
│   ├── UnknownTopic   the topic or partition does not exist
│   ├── TopicExists    the topic already exists
│   └── Unavailable    a broker cannot serve the request at the moment: retry within a time limit
├── InvalidProperties  librdkafka rejects a property of the user: fix the file
├── UnknownConfig      a topic has no config of this name: fix the name
├── Unreadable         the records at an offset are damaged
└── Undelivered        records were not acknowledged; the message names their input lines

librdkafka names a few error codes in its own way. Messages use Kafka's names, which users can look up.
"""

import re
from typing import Final

from confluent_kafka import KafkaError

_KAFKA_NAMES: Final = {
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
    "INVALID_MSG": "CORRUPT_MESSAGE",
    "UNKNOWN_TOPIC_OR_PART": "UNKNOWN_TOPIC_OR_PARTITION",
    "INVALID_MSG_SIZE": "INVALID_FETCH_SIZE",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "MSG_SIZE_TOO_LARGE": "MESSAGE_TOO_LARGE",
    "STALE_CTRL_EPOCH": "STALE_CONTROLLER_EPOCH",
    "TOPIC_EXCEPTION": "INVALID_TOPIC_EXCEPTION",
}
_REASONS: Final = {
    KafkaError.UNKNOWN_TOPIC_OR_PART: "there is no such topic or partition",
    KafkaError.UNKNOWN_TOPIC_ID: "there is no such topic or partition",
    KafkaError.INVALID_RECORD: "a record is invalid, such as one without a key in a compacted topic",
    KafkaError.GROUP_ID_NOT_FOUND: "there is no such group",
    KafkaError.NON_EMPTY_GROUP: "it has members; stop them first",
    KafkaError.UNKNOWN_MEMBER_ID: "it has members now; stop them first",
    KafkaError.ILLEGAL_GENERATION: "it has members now; stop them first",
    KafkaError.STALE_MEMBER_EPOCH: "it has members now; stop them first",
}
"""Where librdkafka's text does not say what to do."""
_SOURCE: Final = re.compile(r"^(?:Broker|Local): ")


class ClientError(Exception):
    """A command could not do its work; the message is for the user."""


class Unreachable(ClientError):
    """No broker could be reached, or none answered in time."""


class InvalidProperties(ClientError):
    """The client cannot be configured like this."""


class BrokerError(ClientError):
    """A broker rejected the request."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class UnknownTopic(BrokerError):
    """The topic or partition does not exist."""


class TopicExists(BrokerError):
    """The topic already exists."""


class Unavailable(BrokerError):
    """A broker cannot serve the request at the moment."""


class UnknownConfig(ClientError):
    """A topic has no config of this name."""


class Unreadable(ClientError):
    """Damaged records."""


class Undelivered(ClientError):
    """Records that were not acknowledged."""


_KINDS: Final[dict[int, type[BrokerError]]] = {
    KafkaError.TOPIC_ALREADY_EXISTS: TopicExists,
    KafkaError.UNKNOWN_TOPIC_OR_PART: UnknownTopic,
    KafkaError.UNKNOWN_TOPIC_ID: UnknownTopic,
    KafkaError._UNKNOWN_TOPIC: UnknownTopic,  # noqa: SLF001 - public: the underscore marks local errors
    KafkaError._UNKNOWN_PARTITION: UnknownTopic,  # noqa: SLF001
    KafkaError._NOENT: Unavailable,  # noqa: SLF001 - no leaders found
    KafkaError.LEADER_NOT_AVAILABLE: Unavailable,
    KafkaError.NOT_LEADER_FOR_PARTITION: Unavailable,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS: Unavailable,
    KafkaError.COORDINATOR_NOT_AVAILABLE: Unavailable,
    KafkaError.NOT_COORDINATOR: Unavailable,
    KafkaError.NOT_CONTROLLER: Unavailable,
    KafkaError.OFFSET_NOT_AVAILABLE: Unavailable,
    KafkaError.UNSTABLE_OFFSET_COMMIT: Unavailable,
}


def client_error(error: KafkaError, subject: str, cause: str = "") -> ClientError:
    """Return the error to raise; `subject` says what the request was about, `cause` ends the message."""
    code = error.code()
    reason = (_REASONS.get(code) or _SOURCE.sub("", error.str()).rstrip(".")) + cause
    kind = _KINDS.get(code)
    if kind is None and code < 0:
        return Unreachable(f"{subject}: {reason}")
    name = "" if code < 0 else f" ({error_name(error)})"
    return (kind or BrokerError)(f"{subject}: {reason}{name}", code)


def error_name(error: KafkaError) -> str:
    """Return Kafka's name of a broker's error code."""
    name = error.name()
    return _KAFKA_NAMES.get(name, name)
