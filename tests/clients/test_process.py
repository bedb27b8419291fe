"""Client programs that respond, fail, exit or hang."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients import process
from tests.clients.process import ClientBroken, ClientFailed, ClientProcess
from tests.clients.protocol import Consume, Record

Start = Callable[[str], ClientProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a program given as Python code; `say` writes a response, `line` is the request."""
    running: list[ClientProcess] = []

    def begin(code: str) -> ClientProcess:
        loop = f"import sys\ndef say(text): print(text, flush=True)\nfor line in sys.stdin:\n    {code}"
        running.append(ClientProcess([sys.executable, "-c", loop], tmp_path / "some.log"))
        return running[-1]

    yield begin
    for program in running:
        program.close()


def test_response_is_returned(start: Start) -> None:
    program = start("""say('{"is": "done", "placed": [[0, 7]]}')""")
    assert program.produce("topic", [Record()]) == [(0, 7)]
    assert program.idle


def test_error_has_its_code(start: Start) -> None:
    program = start("""say('{"is": "failed", "message": "no", "code": 36}')""")
    with pytest.raises(ClientFailed, match="no") as failed:
        program.create_topic("topic")
    assert failed.value.code == 36
    assert program.idle


def test_new_topic_is_waited_for(start: Start) -> None:
    program = start(
        """say('{"is": "failed", "message": "not yet", "code": 3}')
    line = sys.stdin.readline()
    say('{"is": "done", "bounds": [[0, 0]]}')"""
    )
    assert program.describe_topic("topic") == [(0, 0)]


def test_program_is_not_idle_after_an_abandoned_read(start: Start) -> None:
    program = start("""say('{"is": "record", "record": {"value": "QQ=="}}')""")
    assert next(program.begin_consume(Consume("topic", 2))).value == b"A"
    assert not program.idle


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sys.exit('no more')", "has ended.*no more"),
        ("say('rubbish')", "wrote b'rubbish"),
        ("""say('{"is": "ready"}')""", "answered Ready"),
    ],
)
def test_broken_program_is_reported_with_its_log(start: Start, code: str, message: str) -> None:
    program = start(code)
    with pytest.raises(ClientBroken, match=f"(?s)some {message}"):
        program.create_topic("topic")


def test_silent_program_times_out(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "ANSWER_S", 0.05)
    program = start("pass")
    with pytest.raises(ClientBroken, match="said nothing"):
        program.create_topic("topic")
    assert not program.idle
