"""What can go wrong between a command and a broker, sorted by what the caller must do.

ClientError
├── TryAgain           it may pass: ask again, within a time limit
│   ├── Unreachable    no connection could be made
│   ├── Lost           the connection broke, or no answer came in time
│   └── NotNow         the broker says so, with a code that Kafka calls retriable
├── NotKafka           what answers is not a Kafka broker: fix the address
├── NotServed          the broker has no version of this API that we know
├── Refused            the broker says no: fix the request
│   └── UnknownTopic   there is no such topic; just after its making, another broker may not know it yet
└── Undelivered        records were refused; the message names their lines
"""

from dray.wire import ErrorCode

_UNKNOWN_TOPIC = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)

_NO_TOPIC = "there is no such topic or partition"


class ClientError(Exception):
    """A broker did not do what was asked; the message is for people."""


class TryAgain(ClientError):
    """The same request may succeed later."""


class Unreachable(TryAgain):
    """No connection could be made."""


class Lost(TryAgain):
    """The connection broke or stayed silent; whether the request was carried out is not known."""


class NotNow(TryAgain):
    """The broker cannot do it at the moment."""


class NotKafka(ClientError):
    """The bytes that came back are no Kafka answer."""


class NotServed(ClientError):
    """The broker and this client have no version of an API in common."""


class Refused(ClientError):
    """The broker will not do it, now or later."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class UnknownTopic(Refused):
    """There is no such topic."""


class Undelivered(ClientError):
    """Records that a broker did not take."""


def raise_for(code: int, what: str, message: str | None = None) -> None:
    """Raise what an error code stands for, unless it is 0; `what` says whose it is."""
    if code == ErrorCode.NONE:
        return
    known = code in ErrorCode.__members__.values()
    message = message or (_NO_TOPIC if code in _UNKNOWN_TOPIC else None)
    name = ErrorCode(code).name if known else f"error {code}"
    text = f"{what}: {message.rstrip('.')} ({name})" if message else f"{what}: {name}"
    if code in _UNKNOWN_TOPIC:
        raise UnknownTopic(text, code)
    if known and ErrorCode(code).retriable:
        raise NotNow(text)
    raise Refused(text, code)
