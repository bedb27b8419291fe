"""Script of a scenario: sends requests, and writes requests and responses down as they happen.

A scenario is an `async def` that gets a `Script`. It sends requests as members (`classic`, `consumer`) or as
another client (`client`). A request is sent at once and returns a `Call`; the scenario then states what it
expects:

    response = await call               the response arrives, and is written down
    await script.pending(call)          no response arrives now; the call is pending
    await script.responses_of(one, two) the pending calls have been answered, in any order

No request can be sent while another call is neither answered nor pending: two concurrent requests could reach
the broker in either order, and recordings would not repeat. For the same reason a scenario has to take every
response before it ends, or disconnect.
"""

from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from msgspec.structs import replace

from dray.runtime import Clock
from dray.wire import APIS, LENGTH_BYTES, Api, Message, RequestHeader, decode_response, encode_request
from dray.wire.apis.list_groups import ListGroupsResponse
from tests.groups.golden.names import Names
from tests.groups.golden.rendering import INDENT, request_lines, response_lines

ANSWER_S: Final = 20.0
PARKED_S: Final = 0.25
"""How long a real broker has to respond before a call counts as pending."""
CORRELATION: Final = 7
NO_ANSWER: Final = "(no answer)"
_BY_REQUEST: Final = {api.request: api for api in APIS.values()}


class NoReply(Exception):
    """An expected response does not arrive; the scenario ends here."""


class Exchange(Protocol):
    """A request in flight."""

    @property
    def done(self) -> bool: ...

    async def result(self, timeout_s: float) -> bytes:
        """Return the response's frame, without the length; raises `TimeoutError`."""
        ...

    def hang_up(self) -> None: ...


class Backend(Protocol):
    """A broker that accepts requests."""

    @property
    def clock(self) -> Clock: ...

    def send(self, frame: bytes, client_name: str) -> Exchange:
        """Send a request of a client on its own connection."""
        ...


OnResponse = Callable[[Any], None]
"""Called with a response, so that the client can remember parts of it."""


@dataclass(slots=True, eq=False)
class Call:
    """A request that was sent; await it to take its response."""

    script: "Script"
    client_name: str
    api: Api
    version: int
    exchange: Exchange
    remember: OnResponse
    is_pending: bool = False
    response: Any = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self.script.take(self).__await__()


def ignore_response(_: Any) -> None:
    """For responses that the client need not remember."""


class Script:
    """Sends the requests of all clients, and writes the transcript."""

    def __init__(self, backend: Backend, run: str) -> None:
        self.names = Names(run)
        self.lines: list[str] = []
        self._backend = backend
        self._open: list[Call] = []
        self._topic_ids: dict[str, bytes] = {}

    # Requests

    def ask(
        self,
        client_name: str,
        request: Message,
        version: int,
        remember: OnResponse = ignore_response,
        client_id: str | None = None,
    ) -> Call:
        """Send a request of a client."""
        unsettled = [call for call in self._open if not call.is_pending]
        assert not unsettled, (
            f"{unsettled[0].client_name}'s {unsettled[0].api.name} is neither answered nor pending"
        )
        api = _BY_REQUEST[type(request)]
        first, *rest = request_lines(api, version, request, self.names)
        self._write(f"{client_name} asks {first}", *rest)
        header = RequestHeader(api.key, version, CORRELATION, client_id)
        frame = b"".join(encode_request(api, header, request))[LENGTH_BYTES:]
        call = Call(self, client_name, api, version, self._backend.send(frame, client_name), remember)
        self._open.append(call)
        return call

    async def take(self, call: Call) -> Any:
        """Wait for a response, and write it down."""
        if call not in self._open:  # it was expected to be pending; its response has been written down
            return call.response
        if call.is_pending:
            self._write(f"{call.client_name} is answered {call.api.name} v{call.version}")
        call.response = await self._response(call)
        shown = response_lines(call.api, call.version, self._ours(call.response), self.names)
        self.lines += shown
        call.remember(call.response)
        return call.response

    async def pending(self, *calls: Call) -> None:
        """Write down that calls are pending; if one is not, its response is written down instead."""
        await self._backend.clock.sleep(PARKED_S)
        for call in calls:
            if call.exchange.done:
                await self.take(call)
            elif call.is_pending:
                self._write(f"{call.client_name} still waits for {call.api.name}")
            else:
                self.lines.append(f"{INDENT}(waits)")
                call.is_pending = True

    async def responses_of(self, *calls: Call) -> list[Any]:
        """Take several responses, in the given order."""
        return [await call for call in calls]

    def hang_up(self, *calls: Call) -> None:
        """Close the connections of pending calls."""
        for call in calls:
            if call not in self._open:
                continue
            self._write(f"{call.client_name} hangs up on {call.api.name}")
            call.exchange.hang_up()
            self._open.remove(call)

    async def send_unrecorded(self, request: Message) -> Any:
        """Send a request that is not part of the transcript, in the highest version."""
        api = _BY_REQUEST[type(request)]
        header = RequestHeader(api.key, api.highest, CORRELATION, "golden")
        frame = b"".join(encode_request(api, header, request))[LENGTH_BYTES:]
        came = await self._backend.send(frame, "the scenario").result(ANSWER_S)
        return decode_response(api, api.highest, came)[1]

    # Time and notes

    async def wait(self, seconds: float) -> None:
        """Let time pass, and write it down."""
        self._write(f"{seconds:g} s pass")
        await self._backend.clock.sleep(seconds)

    async def pause(self, seconds: float) -> None:
        """Let time pass that does not matter to the scenario."""
        await self._backend.clock.sleep(seconds)

    @contextmanager
    def summarized(self, summary: str) -> Iterator[None]:
        """Run steps that other scenarios show in full; only the summary is written down."""
        kept = list(self.lines)
        yield
        self.lines = kept
        self.note(summary)

    def note(self, text: str) -> None:
        self._write(f"# {text}")

    def check_end(self) -> None:
        """Check that no call is left open."""
        assert not self._open, f"{self._open[0].client_name}'s {self._open[0].api.name} was left open"

    def text(self) -> str:
        """Return the transcript."""
        return "\n".join(self.lines).lstrip("\n") + "\n"

    # Topics

    def learn_topic(self, name: str, topic_id: bytes) -> None:
        self._topic_ids[name] = topic_id
        self.names.learn_topic(topic_id, name)

    def rename_topic(self, name: str, shown: str) -> None:
        """Show a deleted topic under another name, before a new one gets its name."""
        self.names.learn_topic(self._topic_ids.pop(name), shown)

    def topic_id(self, name: str) -> bytes:
        """Return the id of a topic of this scenario; for any other name, an id that no topic has."""
        if name not in self._topic_ids:
            self.names.learn_topic(name.encode().ljust(16, b"?")[:16], f"(unknown {name})")
        return self._topic_ids.get(name) or name.encode().ljust(16, b"?")[:16]

    def _write(self, *lines: str) -> None:
        self.lines += ["", *lines]

    def _ours(self, response: Any) -> Any:
        """Filter out the groups of other scenarios, which run concurrently."""
        if not isinstance(response, ListGroupsResponse):
            return response
        mine = [group for group in response.groups if self.names.is_own(group.group_id)]
        return replace(response, groups=mine)

    async def _response(self, call: Call) -> Any:
        try:
            frame = await call.exchange.result(ANSWER_S)
        except TimeoutError as error:
            self.lines.append(INDENT + NO_ANSWER)
            raise NoReply(f"{call.client_name} gets no answer to {call.api.name}") from error
        self._open.remove(call)
        correlation, response = decode_response(call.api, call.version, frame)
        assert correlation == CORRELATION
        return response


Scenario = Callable[[Script], Awaitable[None]]
