"""Scripts: the rules that make transcripts repeatable."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop
from dray.wire import LENGTH_BYTES, Message, decode_request, encode_response
from dray.wire.apis.heartbeat import HEARTBEAT, HeartbeatRequest, HeartbeatResponse
from dray.wire.apis.list_groups import LIST_GROUPS, ListedGroup, ListGroupsRequest, ListGroupsResponse
from tests.groups.golden.registry import GoldenScenario
from tests.groups.golden.script import NO_ANSWER, Script


class ManualExchange:
    """An exchange that the test answers."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    @property
    def done(self) -> bool:
        return self.answer.done()

    async def result(self, timeout_s: float) -> bytes:
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(self.answer)

    def hang_up(self) -> None:
        self.answer.cancel()


class ManualBackend:
    """A broker that responds only when the test does."""

    def __init__(self) -> None:
        self.clock = VirtualClock(virtual_loop())
        self.asked: list[tuple[Message, ManualExchange]] = []

    def send(self, frame: bytes, client_name: str) -> ManualExchange:
        exchange = ManualExchange()
        self.asked.append((decode_request(memoryview(frame))[1], exchange))
        return exchange

    def answer(self, number: int, error_code: int = 0) -> None:
        self.answer_with(number, HeartbeatResponse(error_code=error_code))

    def answer_with(self, number: int, response: Message) -> None:
        api, version = (HEARTBEAT, 4) if isinstance(response, HeartbeatResponse) else (LIST_GROUPS, 5)
        buffers = encode_response(api, version, 7, response)
        self.asked[number][1].answer.set_result(b"".join(buffers)[LENGTH_BYTES:])


Body = Callable[[Script, ManualBackend], Coroutine[None, None, None]]


def played(body: Body) -> str:
    """Play a scenario on a `ManualBackend`; returns its transcript."""

    async def main() -> str:
        backend = ManualBackend()

        async def scenario(script: Script) -> None:
            await body(script, backend)

        return await GoldenScenario("a scenario", "plain", scenario).play(backend, "run")

    return run(main())


async def _pending_then_answered(script: Script, backend: ManualBackend) -> None:
    first = script.ask("a", HeartbeatRequest(group_id="g-run"), 4)
    await script.pending(first)
    second = script.ask("b", HeartbeatRequest(generation_id=3), 4)
    backend.answer(1, 27)
    await second
    await script.pending(first)
    backend.answer(0)
    await first
    await script.wait(1.5)


def test_transcript_shows_pending_calls_and_their_later_responses() -> None:
    assert played(_pending_then_answered) == (
        "\n\n".join(
            (
                "a asks Heartbeat v4: group_id=g\n  (waits)",
                "b asks Heartbeat v4: generation_id=3\n  → REBALANCE_IN_PROGRESS",
                "a still waits for Heartbeat",
                "a is answered Heartbeat v4\n  → NONE",
                "1.5 s pass",
            )
        )
        + "\n"
    )


async def _answered_at_once(script: Script, backend: ManualBackend) -> None:
    call = script.ask("a", HeartbeatRequest(), 4)
    backend.answer(0)
    await script.pending(call)
    await call
    script.hang_up(call)


def test_call_that_was_expected_to_be_pending_is_written_once() -> None:
    assert played(_answered_at_once) == "a asks Heartbeat v4\n  → NONE\n"


async def _without_response(script: Script, backend: ManualBackend) -> None:
    await script.ask("a", HeartbeatRequest(), 4)
    raise AssertionError("the scenario must end here")


def test_scenario_ends_at_a_call_without_response() -> None:
    assert played(_without_response) == f"a asks Heartbeat v4\n  {NO_ANSWER}\n"


async def _two_at_once(script: Script, backend: ManualBackend) -> None:
    script.ask("a", HeartbeatRequest(), 4)
    script.ask("b", HeartbeatRequest(), 4)


async def _left_behind(script: Script, backend: ManualBackend) -> None:
    call = script.ask("a", HeartbeatRequest(), 4)
    await script.pending(call)


@pytest.mark.parametrize(
    ("body", "message"),
    [(_two_at_once, "neither answered nor pending"), (_left_behind, "left open")],
)
def test_unrepeatable_scenarios_are_rejected(body: Body, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        played(body)


async def _disconnects(script: Script, backend: ManualBackend) -> None:
    call = script.ask("a", HeartbeatRequest(), 4)
    await script.pending(call)
    script.hang_up(call)
    assert backend.asked[0][1].done


def test_disconnected_call_has_no_response() -> None:
    assert played(_disconnects).endswith("a hangs up on Heartbeat\n")


async def _summarized(script: Script, backend: ManualBackend) -> None:
    with script.summarized("a sends a heartbeat"):
        call = script.ask("a", HeartbeatRequest(), 4)
        backend.answer(0)
        await call


def test_summarized_calls_are_written_as_one_line() -> None:
    assert played(_summarized) == "# a sends a heartbeat\n"


async def _lists(script: Script, backend: ManualBackend) -> None:
    call = script.ask("a", ListGroupsRequest(), 5)
    groups = [ListedGroup(group_id=name) for name in ("z-run", "stranger", "a-run")]
    backend.answer_with(0, ListGroupsResponse(groups=groups))
    await call


def test_groups_of_other_scenarios_are_filtered_out() -> None:
    shown = [line.strip() for line in played(_lists).splitlines() if "group_id" in line]
    assert [line.split()[1] for line in shown] == ["group_id=a", "group_id=z"]
