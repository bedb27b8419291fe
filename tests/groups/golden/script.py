"""A scenario as it is played: who asks what, and what comes back, written down as it happens.

A scenario is an `async def` that is given a `Script`. It asks through members (`classic`, `consumer`) or as
an outsider (`client`). What is asked goes out at once and is a `Call`; the scenario then says what it
expects:

    answer = await call             the answer comes, and is written down
    await script.parked(call)       no answer comes now; the call waits
    await script.answered(one, two) what waited is answered by now, in whatever order

Nothing new can be asked while a call is neither answered nor known to wait: two requests under way at once
would reach the broker in any order, and no recording would repeat. For the same reason a scenario has to
take every answer before it ends, or say that it hangs up.
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
"""How long a real broker gets to answer before a call counts as one that waits."""
CORRELATION: Final = 7
NO_ANSWER: Final = "(no answer)"
_BY_REQUEST: Final = {api.request: api for api in APIS.values()}


class Stuck(Exception):
    """An answer that the scenario waits for does not come: it cannot be played to its end."""


class Exchange(Protocol):
    """A request under way."""

    @property
    def done(self) -> bool: ...

    async def result(self, timeout_s: float) -> bytes:
        """Return the answer's frame, without the length; `TimeoutError` if none comes in time."""
        ...

    def hang_up(self) -> None: ...


class Backend(Protocol):
    """A broker that can be asked."""

    @property
    def clock(self) -> Clock: ...

    def send(self, frame: bytes, who: str) -> Exchange:
        """Begin a request of a client's on a connection of its own."""
        ...


Learn = Callable[[Any], None]
"""What whoever asked remembers of an answer."""


@dataclass(slots=True, eq=False)
class Call:
    """A request that was asked; await it to take its answer."""

    script: "Script"
    who: str
    api: Api
    version: int
    exchange: Exchange
    learn: Learn
    waits: bool = False
    response: Any = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self.script.take(self).__await__()


def nothing_to_learn(_: Any) -> None:
    """For answers that change nothing for whoever asked."""


class Script:
    """The stage: sends for everybody, and writes everything down."""

    def __init__(self, backend: Backend, run: str) -> None:
        self.names = Names(run)
        self.lines: list[str] = []
        self._backend = backend
        self._open: list[Call] = []
        self._topic_ids: dict[str, bytes] = {}

    # Asking

    def ask(
        self,
        who: str,
        request: Message,
        version: int,
        learn: Learn = nothing_to_learn,
        client_id: str | None = None,
    ) -> Call:
        """Send a request for somebody."""
        unsettled = [call for call in self._open if not call.waits]
        assert not unsettled, f"{unsettled[0].who}'s {unsettled[0].api.name} is neither answered nor parked"
        api = _BY_REQUEST[type(request)]
        first, *rest = request_lines(api, version, request, self.names)
        self._write(f"{who} asks {first}", *rest)
        header = RequestHeader(api.key, version, CORRELATION, client_id)
        frame = b"".join(encode_request(api, header, request))[LENGTH_BYTES:]
        call = Call(self, who, api, version, self._backend.send(frame, who), learn)
        self._open.append(call)
        return call

    async def take(self, call: Call) -> Any:
        """Wait for an answer, and write it down."""
        if call not in self._open:  # it was to wait and did not: its answer has been written down
            return call.response
        if call.waits:
            self._write(f"{call.who} is answered {call.api.name} v{call.version}")
        call.response = await self._response(call)
        shown = response_lines(call.api, call.version, self._ours(call.response), self.names)
        self.lines += shown
        call.learn(call.response)
        return call.response

    async def parked(self, *calls: Call) -> None:
        """Write down that these still wait; the answer of one that does not is written down instead."""
        await self._backend.clock.sleep(PARKED_S)
        for call in calls:
            if call.exchange.done:
                await self.take(call)
            elif call.waits:
                self._write(f"{call.who} still waits for {call.api.name}")
            else:
                self.lines.append(f"{INDENT}(waits)")
                call.waits = True

    async def answered(self, *calls: Call) -> list[Any]:
        """Take several answers, in the order given."""
        return [await call for call in calls]

    def hang_up(self, *calls: Call) -> None:
        """Close the connections of calls that still wait."""
        for call in calls:
            if call not in self._open:
                continue
            self._write(f"{call.who} hangs up on {call.api.name}")
            call.exchange.hang_up()
            self._open.remove(call)

    async def unseen(self, request: Message) -> Any:
        """Ask something that is not part of the scenario, in the highest version."""
        api = _BY_REQUEST[type(request)]
        header = RequestHeader(api.key, api.highest, CORRELATION, "golden")
        frame = b"".join(encode_request(api, header, request))[LENGTH_BYTES:]
        came = await self._backend.send(frame, "the scenario").result(ANSWER_S)
        return decode_response(api, api.highest, came)[1]

    # Time and words

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._write(f"{seconds:g} s pass")
        await self._backend.clock.sleep(seconds)

    async def pause(self, seconds: float) -> None:
        """Let time pass in which nothing happens that matters to the scenario."""
        await self._backend.clock.sleep(seconds)

    @contextmanager
    def offstage(self, summary: str) -> Iterator[None]:
        """Do what other scenarios show in full; only the summary is written down."""
        kept = list(self.lines)
        yield
        self.lines = kept
        self.note(summary)

    def note(self, text: str) -> None:
        self._write(f"# {text}")

    def check_end(self) -> None:
        """See that nothing is left open."""
        assert not self._open, f"{self._open[0].who}'s {self._open[0].api.name} was left behind"

    def text(self) -> str:
        """Return the transcript."""
        return "\n".join(self.lines).lstrip("\n") + "\n"

    # Topics

    def learn_topic(self, name: str, topic_id: bytes) -> None:
        self._topic_ids[name] = topic_id
        self.names.learn_topic(topic_id, name)

    def rename_topic(self, name: str, shown: str) -> None:
        """Show a topic that is gone under another name, before a new one gets its name."""
        self.names.learn_topic(self._topic_ids.pop(name), shown)

    def topic_id(self, name: str) -> bytes:
        """Return the id of a topic of this scenario's; of any other name, one that no topic has."""
        if name not in self._topic_ids:
            self.names.learn_topic(name.encode().ljust(16, b"?")[:16], f"(unknown {name})")
        return self._topic_ids.get(name) or name.encode().ljust(16, b"?")[:16]

    def _write(self, *lines: str) -> None:
        self.lines += ["", *lines]

    def _ours(self, response: Any) -> Any:
        """Leave out the groups of other scenarios, which run at the same time."""
        if not isinstance(response, ListGroupsResponse):
            return response
        mine = [group for group in response.groups if self.names.is_own(group.group_id)]
        return replace(response, groups=mine)

    async def _response(self, call: Call) -> Any:
        try:
            frame = await call.exchange.result(ANSWER_S)
        except TimeoutError as error:
            self.lines.append(INDENT + NO_ANSWER)
            raise Stuck(f"{call.who} gets no answer to {call.api.name}") from error
        self._open.remove(call)
        correlation, response = decode_response(call.api, call.version, frame)
        assert correlation == CORRELATION
        return response


Scenario = Callable[[Script], Awaitable[None]]
