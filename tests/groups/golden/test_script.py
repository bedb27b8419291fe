"""The rules of the stage: what makes a transcript repeatable."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop
from dray.wire import LENGTH_BYTES, Message, decode_request, encode_response
from dray.wire.apis.heartbeat import HEARTBEAT, HeartbeatRequest, HeartbeatResponse
from dray.wire.apis.list_groups import LIST_GROUPS, ListedGroup, ListGroupsRequest, ListGroupsResponse
from tests.groups.golden.registry import Written
from tests.groups.golden.script import NO_ANSWER, Script


class HeldExchange:
    """An exchange that a test answers when it likes."""

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


class HeldBackend:
    """A broker that says nothing by itself."""

    def __init__(self) -> None:
        self.clock = VirtualClock(virtual_loop())
        self.asked: list[tuple[Message, HeldExchange]] = []

    def send(self, frame: bytes, who: str) -> HeldExchange:
        exchange = HeldExchange()
        self.asked.append((decode_request(memoryview(frame))[1], exchange))
        return exchange

    def answer(self, number: int, error_code: int = 0) -> None:
        self.answer_with(number, HeartbeatResponse(error_code=error_code))

    def answer_with(self, number: int, response: Message) -> None:
        api, version = (HEARTBEAT, 4) if isinstance(response, HeartbeatResponse) else (LIST_GROUPS, 5)
        buffers = encode_response(api, version, 7, response)
        self.asked[number][1].answer.set_result(b"".join(buffers)[LENGTH_BYTES:])


Body = Callable[[Script, HeldBackend], Coroutine[None, None, None]]


def played(body: Body) -> str:
    """Play a scenario on a broker that says nothing; returns its transcript."""

    async def main() -> str:
        backend = HeldBackend()

        async def scenario(script: Script) -> None:
            await body(script, backend)

        return await Written("a scenario", "plain", scenario).play(backend, "run")

    return run(main())


async def _parked_and_answered(script: Script, backend: HeldBackend) -> None:
    first = script.ask("a", HeartbeatRequest(group_id="g-run"), 4)
    await script.parked(first)
    second = script.ask("b", HeartbeatRequest(generation_id=3), 4)
    backend.answer(1, 27)
    await second
    await script.parked(first)
    backend.answer(0)
    await first
    await script.wait(1.5)


def test_a_transcript_tells_what_waited_and_when_it_was_answered() -> None:
    assert played(_parked_and_answered) == (
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


async def _not_parked(script: Script, backend: HeldBackend) -> None:
    call = script.ask("a", HeartbeatRequest(), 4)
    backend.answer(0)
    await script.parked(call)
    await call
    script.hang_up(call)


def test_what_was_to_wait_and_does_not_is_written_down_once() -> None:
    assert played(_not_parked) == "a asks Heartbeat v4\n  → NONE\n"


async def _in_vain(script: Script, backend: HeldBackend) -> None:
    await script.ask("a", HeartbeatRequest(), 4)
    raise AssertionError("nothing comes after that")


def test_a_scenario_that_waits_in_vain_ends_there() -> None:
    assert played(_in_vain) == f"a asks Heartbeat v4\n  {NO_ANSWER}\n"


async def _two_at_once(script: Script, backend: HeldBackend) -> None:
    script.ask("a", HeartbeatRequest(), 4)
    script.ask("b", HeartbeatRequest(), 4)


async def _left_behind(script: Script, backend: HeldBackend) -> None:
    call = script.ask("a", HeartbeatRequest(), 4)
    await script.parked(call)


@pytest.mark.parametrize(
    ("body", "message"),
    [(_two_at_once, "neither answered nor parked"), (_left_behind, "left behind")],
)
def test_what_no_recording_could_repeat_is_refused(body: Body, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        played(body)


async def _hangs_up(script: Script, backend: HeldBackend) -> None:
    call = script.ask("a", HeartbeatRequest(), 4)
    await script.parked(call)
    script.hang_up(call)
    assert backend.asked[0][1].done


def test_whoever_hangs_up_takes_no_answer() -> None:
    assert played(_hangs_up).endswith("a hangs up on Heartbeat\n")


async def _offstage(script: Script, backend: HeldBackend) -> None:
    with script.offstage("a has beaten"):
        call = script.ask("a", HeartbeatRequest(), 4)
        backend.answer(0)
        await call


def test_what_happens_offstage_is_told_in_a_line() -> None:
    assert played(_offstage) == "# a has beaten\n"


async def _lists(script: Script, backend: HeldBackend) -> None:
    call = script.ask("a", ListGroupsRequest(), 5)
    groups = [ListedGroup(group_id=name) for name in ("z-run", "stranger", "a-run")]
    backend.answer_with(0, ListGroupsResponse(groups=groups))
    await call


def test_groups_of_other_scenarios_are_not_seen() -> None:
    shown = [line.strip() for line in played(_lists).splitlines() if "group_id" in line]
    assert [line.split()[1] for line in shown] == ["group_id=a", "group_id=z"]
