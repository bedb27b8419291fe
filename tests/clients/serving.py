"""Request loop of a client program written in Python (`tests.clients.protocol`).

A thread reads requests, so that a group member sees `leave` while it consumes.
"""

import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from tests.clients.protocol import (
    Answer,
    Committed,
    Consume,
    CreateTopic,
    DescribeTopic,
    Done,
    Failed,
    Join,
    Leave,
    Line,
    Load,
    Produce,
    Read,
    Ready,
    Record,
    Request,
)
from tests.clients.security import Security
from tests.clients.security import read as read_security


class OutOfTime(Exception):
    """The requested records did not arrive in time."""


class Refused(Exception):
    """The broker returned an error code that the library does not raise."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Requests:
    """Lines of the input; an empty one is its end."""

    def __init__(self) -> None:
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def __iter__(self) -> Iterator[bytes]:
        while line := self._lines.get():
            yield line

    @property
    def waiting(self) -> bool:
        """Whether another line or the end of the input has arrived."""
        return not self._lines.empty()

    def _read(self) -> None:
        for line in sys.stdin.buffer:
            self._lines.put(line)
        self._lines.put(b"")


class Answers:
    """Responses sent while a request is in progress."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def ready(self) -> None:
        write(Ready())

    def record(self, record: Record) -> None:
        write(Read(record))

    def committed(self, offsets: Mapping[int, int]) -> None:
        """Send the committed offset of each partition."""
        write(Committed(list(offsets.items())))

    @property
    def leaving(self) -> bool:
        """Whether the group member, or the load, has been asked to end."""
        return self._requests.waiting


class Library(Protocol):
    """A client library behind the common interface; the exceptions in `errors` become `failed`."""

    @property
    def errors(self) -> tuple[type[Exception], ...]: ...

    def code_of(self, error: Exception) -> int | None: ...

    def create_topic(self, request: CreateTopic) -> None: ...

    def describe_topic(self, request: DescribeTopic) -> Sequence[tuple[int, int]]: ...

    def produce(self, request: Produce) -> Sequence[tuple[int, int]]: ...

    def consume(self, request: Consume, answers: Answers) -> None: ...

    def join(self, request: Join, answers: Answers) -> None: ...


@runtime_checkable
class Loader(Protocol):
    """A library that can also write until it is asked to stop."""

    def load(self, request: Load, answers: Answers) -> Sequence[tuple[int, int]]: ...


def write(answer: Answer) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


def main(library: Callable[[str, Security | None], Library]) -> None:
    """Serve requests for the broker named on the command line until the input ends."""
    security = read_security(sys.argv[2]) if len(sys.argv) > 2 else None
    served, decoder, requests = library(sys.argv[1], security), msgspec.json.Decoder(Line), Requests()
    answers = Answers(requests)
    for line in requests:
        request = decoder.decode(line)
        if not isinstance(request, Leave):  # it ended the request before it, which was answered
            write(_answer(served, request, answers))


def _answer(library: Library, request: Request, answers: Answers) -> Done | Failed:
    try:
        return _do(library, request, answers)
    except Refused as refused:
        return Failed(str(refused), refused.code)
    except OutOfTime as late:
        return Failed(str(late))
    except library.errors as error:
        return Failed(f"{type(error).__name__}: {error}", library.code_of(error))


def _do(library: Library, request: Request, answers: Answers) -> Done:
    match request:
        case CreateTopic():
            library.create_topic(request)
        case DescribeTopic():
            return Done(bounds=library.describe_topic(request))
        case Produce():
            return Done(placed=library.produce(request))
        case Consume():
            library.consume(request, answers)
        case Join():
            library.join(request, answers)
        case Load():
            assert isinstance(library, Loader), f"{library} cannot write until it is asked to stop"
            return Done(placed=library.load(request, answers))
    return Done()
