"""Client for single requests over a raw connection, which shows any response or that there is none.

`RequestClient` uses one broker and reconnects after its connection was closed. It never retries, keeps no
state between requests and does not interpret error codes.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final, TypeVar

from dray.api.dispatch import SERVED
from dray.wire import APIS, LENGTH_BYTES, Message, RequestHeader, decode_response, encode_request
from tests.oracle.raw import ClosedByPeer, NoAnswer, RawConnection

M = TypeVar("M", bound=Message)
BY_REQUEST: Final = {api.request: api for api in APIS.values()}
CORRELATION: Final = 77
Connect = Callable[[tuple[str, int], float], AbstractContextManager[RawConnection]]
"""Opens a connection to an address, with a timeout for each call."""


class Unanswered(Exception):
    """No response was received."""


class Closed(Unanswered):
    """The broker closed the connection instead of responding."""


class Silent(Unanswered):
    """The broker keeps the connection open without responding."""


def frame_of(request: Message, version: int, client_id: str | None = "oracle") -> bytes:
    """Return a request's bytes without the length prefix."""
    api = BY_REQUEST[type(request)]
    header = RequestHeader(api.key, version, CORRELATION, client_id)
    return b"".join(encode_request(api, header, request))[LENGTH_BYTES:]


class RequestClient:
    """Sends requests to one broker, one at a time."""

    def __init__(
        self, address: tuple[str, int], timeout_s: float, connect: Connect = RawConnection.open
    ) -> None:
        self.address = address
        self._timeout_s = timeout_s
        self._connect = connect
        self._open = ExitStack()
        self._connection: RawConnection | None = None

    @property
    def connection(self) -> RawConnection:
        if self._connection is None:
            opening = self._connect(self.address, self._timeout_s)
            self._connection = self._open.enter_context(opening)
        return self._connection

    def hang_up(self) -> None:
        self._open.close()
        self._connection = None

    def send(
        self,
        request: Message,
        response_type: type[M],
        version: int | None = None,
        *,
        client_id: str | None = "oracle",
    ) -> M:
        """Return the response in a version, by default the highest that Dray serves; raises `Unanswered`."""
        api = BY_REQUEST[type(request)]
        version = SERVED[api.key].highest if version is None else version
        frame = self.exchange(frame_of(request, version, client_id))
        correlation, body = decode_response(api, version, frame)
        assert correlation == CORRELATION
        assert isinstance(body, response_type)
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

    def send_without_response(self, request: Message, version: int) -> None:
        """Send a request to which the broker never responds."""
        self.connection.send(frame_of(request, version))


@contextmanager
def request_client(
    address: tuple[str, int], timeout_s: float = 10.0, connect: Connect = RawConnection.open
) -> Iterator[RequestClient]:
    client = RequestClient(address, timeout_s, connect)
    try:
        yield client
    finally:
        client.hang_up()
