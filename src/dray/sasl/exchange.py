"""SASL exchange of one client, from the server's side: messages and answers in, events out.

A mechanism is a generator: it is started with the client's first message, yields what it wants to send or
ask, receives the client's next message or the host's answer, and returns `Accepted` or raises `Refused`. It
reads in the order of the protocol. An `Exchange` runs one of them and keeps the rules that all share:

1. Whatever the client sends, the result is an event. Only a host that does not follow the table in `events`
   gets an exception, `ExchangeMisused`.
2. Nothing follows `Accepted` or `Rejected`: an exchange authenticates one client, once.
3. A message of more than 512 KiB is rejected unread.
4. The client is sent Kafka's sentence that says nothing, unless a mechanism has another for the case.
"""

from collections.abc import Callable, Generator
from enum import Enum
from typing import Any, Final, TypeAlias

from dray.sasl.events import Accepted, Answer, Challenge, Event, Question, Rejected

MESSAGE_BYTES_MAX: Final = 512 << 10
"""Kafka's default of `sasl.server.max.receive.size`."""
USER_BYTES_MAX: Final = 1024
"""No user can have a longer name, in UTF-8, because names are keys of the metadata store."""

Script: TypeAlias = Generator[Challenge | Question, Any, Accepted]


class Refused(Exception):
    """Raised by a mechanism: the exchange has failed."""

    def __init__(self, reason: str, message: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message


class ExchangeMisused(Exception):
    """The host called the wrong method, or gave an answer of the wrong type; fix the host."""


class _Expects(Enum):
    FIRST_MESSAGE = "the client's first message"
    MESSAGE = "the client's next message"
    ANSWER = "the answer of the host"
    NOTHING = "nothing more"


class Exchange:
    """One exchange; a re-authentication is a new one."""

    def __init__(
        self, mechanism: str, script: Callable[[bytes], Script], *, reauthentication: bool = False
    ) -> None:
        self.mechanism: Final = mechanism
        self._begin = script
        self._script: Script | None = None
        self._expects = _Expects.FIRST_MESSAGE
        self._occasion = "re-authentication" if reauthentication else "authentication"

    def receive(self, message: bytes) -> Event:
        """Pass a message of the client."""
        self._expect(_Expects.FIRST_MESSAGE, _Expects.MESSAGE)
        if len(message) > MESSAGE_BYTES_MAX:
            self._expects = _Expects.NOTHING
            return self._rejected(Refused(f"a message of {len(message)} bytes; at most {MESSAGE_BYTES_MAX}"))
        if self._script is None:
            self._script = self._begin(message)
            return self._advance(self._script, None)
        return self._advance(self._script, message)

    def resume(self, answer: Answer) -> Event:
        """Pass the answer to the last event, which asked for it."""
        self._expect(_Expects.ANSWER)
        assert self._script is not None
        return self._advance(self._script, answer)

    def _expect(self, *expected: _Expects) -> None:
        if self._expects not in expected:
            raise ExchangeMisused(f"{self.mechanism}: the exchange expects {self._expects.value}")

    def _advance(self, script: Script, value: bytes | Answer | None) -> Event:
        self._expects = _Expects.NOTHING  # also if the script raises
        try:
            event = script.send(value)
        except StopIteration as end:
            accepted: Accepted = end.value
            return accepted
        except Refused as refused:
            return self._rejected(refused)
        self._expects = _Expects.MESSAGE if isinstance(event, Challenge) else _Expects.ANSWER
        return event

    def _rejected(self, refused: Refused) -> Rejected:
        uninformative = (
            f"Authentication failed during {self._occasion} due to invalid credentials "
            f"with SASL mechanism {self.mechanism}"
        )
        return Rejected(refused.reason, refused.message or uninformative)


def answered(answer: object, *types: type) -> None:
    """Check the type of the host's answer.

    Raises `ExchangeMisused`.
    """
    if not isinstance(answer, types):
        expected = " or ".join(wanted.__name__ for wanted in types)
        raise ExchangeMisused(f"expected an answer of type {expected}, got {type(answer).__name__}")


def check_user(user: str) -> None:
    """Raises `Refused` if no user can have this name."""
    size = len(user.encode())
    if size > USER_BYTES_MAX:
        raise Refused(f"a user name of {size} bytes; at most {USER_BYTES_MAX}")
