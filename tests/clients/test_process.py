"""A client programme that fails, breaks or falls silent is told apart from one that answers."""

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
    """Start a programme given as Python code; `say` writes an answer, `line` is the request."""
    running: list[ClientProcess] = []

    def begin(code: str) -> ClientProcess:
        loop = f"import sys\ndef say(text): print(text, flush=True)\nfor line in sys.stdin:\n    {code}"
        running.append(ClientProcess([sys.executable, "-c", loop], tmp_path / "some.log"))
        return running[-1]

    yield begin
    for programme in running:
        programme.close()


def test_an_answer_comes_back(start: Start) -> None:
    programme = start("""say('{"is": "done", "placed": [[0, 7]]}')""")
    assert programme.produce("topic", [Record()]) == [(0, 7)]
    assert programme.idle


def test_a_refusal_carries_its_code(start: Start) -> None:
    programme = start("""say('{"is": "failed", "message": "no", "code": 36}')""")
    with pytest.raises(ClientFailed, match="no") as failed:
        programme.create_topic("topic")
    assert failed.value.code == 36
    assert programme.idle


def test_a_topic_that_does_not_show_at_once_is_waited_for(start: Start) -> None:
    programme = start(
        """say('{"is": "failed", "message": "not yet", "code": 3}')
    line = sys.stdin.readline()
    say('{"is": "done", "bounds": [[0, 0]]}')"""
    )
    assert programme.describe_topic("topic") == [(0, 0)]


def test_a_read_left_in_the_middle_leaves_the_programme_unfit(start: Start) -> None:
    programme = start("""say('{"is": "record", "record": {"value": "QQ=="}}')""")
    assert next(programme.begin_consume(Consume("topic", 2))).value == b"A"
    assert not programme.idle


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sys.exit('I give up')", "has ended.*I give up"),
        ("say('rubbish')", "wrote b'rubbish"),
        ("""say('{"is": "ready"}')""", "answered Ready"),
    ],
)
def test_a_broken_programme_is_shown_with_its_log(start: Start, code: str, message: str) -> None:
    programme = start(code)
    with pytest.raises(ClientBroken, match=f"(?s)some {message}"):
        programme.create_topic("topic")


def test_a_silent_programme_is_given_up(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "ANSWER_S", 0.05)
    programme = start("pass")
    with pytest.raises(ClientBroken, match="said nothing"):
        programme.create_topic("topic")
    assert not programme.idle
