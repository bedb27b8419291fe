"""Requests as messages over a raw connection: what a broker answers, or that it hangs up.

`Asker` speaks to one broker and opens a new connection when the last one was closed. It waits for nothing
but answers, keeps no state between requests and knows no error codes: it shows what came.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, TypeVar

from dray.api.dispatch import SERVED
from dray.wire import APIS, Message, RequestHeader, decode_response, encode_request
from dray.wire.frames import LENGTH_BYTES
from tests.oracle.raw import ClosedByPeer, NoAnswer, RawConnection

M = TypeVar("M", bound=Message)
BY_REQUEST: Final = {api.request: api for api in APIS.values()}
CORRELATION: Final = 77


class Unanswered(Exception):
    """There was no answer."""


class Closed(Unanswered):
    """The broker closed the connection instead of answering."""


class Silent(Unanswered):
    """The broker keeps the connection and says nothing."""


def frame_of(request: Message, version: int, client_id: str | None = "oracle") -> bytes:
    """A request's bytes without the length in front."""
    api = BY_REQUEST[type(request)]
    header = RequestHeader(api.key, version, CORRELATION, client_id)
    return b"".join(encode_request(api, header, request))[LENGTH_BYTES:]


class Asker:
    """Asks one broker, one request at a time."""

    def __init__(self, address: tuple[str, int], timeout_s: float) -> None:
        self.address = address
        self._timeout_s = timeout_s
        self._open = ExitStack()
        self._connection: RawConnection | None = None

    @property
    def connection(self) -> RawConnection:
        if self._connection is None:
            opening = RawConnection.open(self.address, self._timeout_s)
            self._connection = self._open.enter_context(opening)
        return self._connection

    def hang_up(self) -> None:
        self._open.close()
        self._connection = None

    def ask(
        self,
        request: Message,
        answer: type[M],
        version: int | None = None,
        *,
        client_id: str | None = "oracle",
    ) -> M:
        """Return the answer in a version (the highest that Dray serves, unless told); raises `Unanswered`."""
        api = BY_REQUEST[type(request)]
        version = SERVED[api.key].highest if version is None else version
        came = self.exchange(frame_of(request, version, client_id))
        correlation, body = decode_response(api, version, came)
        assert correlation == CORRELATION
        assert isinstance(body, answer)
        return body

    def exchange(self, frame: bytes) -> bytes:
        """Send any bytes as a frame and return the frame that came back; raises `Unanswered`."""
        try:
            return self.connection.exchange(frame)
        except ClosedByPeer as error:
            self.hang_up()
            raise Closed(str(error)) from error
        except NoAnswer as error:
            self.hang_up()
            raise Silent(str(error)) from error

    def tell(self, request: Message, version: int) -> None:
        """Send a request that has no answer."""
        self.connection.send(frame_of(request, version))


@contextmanager
def asking(address: tuple[str, int], timeout_s: float = 10.0) -> Iterator[Asker]:
    asker = Asker(address, timeout_s)
    try:
        yield asker
    finally:
        asker.hang_up()
