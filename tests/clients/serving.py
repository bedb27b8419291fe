"""The loop of a client programme written in Python: requests in, answers out (`tests.clients.protocol`)."""

import sys
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from tests.clients.protocol import (
    Answer,
    Consume,
    CreateTopic,
    DescribeTopic,
    Done,
    Failed,
    Produce,
    Read,
    Ready,
    Record,
    Request,
)


class OutOfTime(Exception):
    """The records asked for did not come in time."""


class Refused(Exception):
    """The broker answered with an error code that the library does not raise by itself."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Answers:
    """Where a programme says what it has while a request is still being done."""

    def ready(self) -> None:
        write(Ready())

    def record(self, record: Record) -> None:
        write(Read(record))


class Library(Protocol):
    """A client library behind the common face; whatever it raises of `errors` becomes `failed`."""

    @property
    def errors(self) -> tuple[type[Exception], ...]: ...

    def code_of(self, error: Exception) -> int | None: ...

    def create_topic(self, request: CreateTopic) -> None: ...

    def describe_topic(self, request: DescribeTopic) -> Sequence[tuple[int, int]]: ...

    def produce(self, request: Produce) -> Sequence[tuple[int, int]]: ...

    def consume(self, request: Consume, answers: Answers) -> None: ...


def write(answer: Answer) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


def main(library: Callable[[str], Library]) -> None:
    """Serve requests for the broker named on the command line until the input ends."""
    served, decoder = library(sys.argv[1]), msgspec.json.Decoder(Request)
    for line in sys.stdin.buffer:
        write(_answer(served, decoder.decode(line)))


def _answer(library: Library, request: Request) -> Done | Failed:
    try:
        return _do(library, request)
    except Refused as refused:
        return Failed(str(refused), refused.code)
    except OutOfTime as late:
        return Failed(str(late))
    except library.errors as error:
        return Failed(f"{type(error).__name__}: {error}", library.code_of(error))


def _do(library: Library, request: Request) -> Done:
    match request:
        case CreateTopic():
            library.create_topic(request)
            return Done()
        case DescribeTopic():
            return Done(bounds=library.describe_topic(request))
        case Produce():
            return Done(placed=library.produce(request))
        case Consume():
            library.consume(request, Answers())
            return Done()
