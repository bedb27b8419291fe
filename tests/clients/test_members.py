"""Members of a group as the tests see them, with a programme that is a few lines of Python."""

import sys
from pathlib import Path

import pytest

from tests.clients.journal import Confirmed, Died, Journal, Processed
from tests.clients.members import Member
from tests.clients.process import ClientBroken, ClientFailed, ClientProcess
from tests.clients.protocol import Join, Record

READS = """say('{"is": "record", "record": {"value": "QQ==", "offset": 3}}')"""
COMMITS = """say('{"is": "committed", "offsets": [[0, 4]]}')"""
STORY = [Processed("some", Record(value=b"A", offset=3)), Confirmed("some", (0, 4))]
HEARD_S = 30


class Started:
    """A member whose programme says something when it joins, and something else when it shall leave."""

    def __init__(self, log: Path, joining: str, leaving: str) -> None:
        code = (
            "import sys\n"
            "def say(text): print(text, flush=True)\n"
            f"sys.stdin.readline()\n{joining}\nsys.stdin.readline()\n{leaving}"
        )
        self.journal = Journal()
        programme = ClientProcess([sys.executable, "-c", code], log)
        self.member = Member("some", programme, Join("topic", "group"), self.journal)

    def hears(self, count: int) -> bool:
        return self.journal.wait(lambda: len(self.journal.entries) == count, HEARD_S)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "some.log"


def test_what_a_member_does_is_in_the_journal_until_it_has_left(log: Path) -> None:
    started = Started(log, f"{READS}; {COMMITS}", """say('{"is": "done"}')""")
    assert started.hears(2)
    started.member.leave()
    started.member.close()
    assert started.journal.entries == STORY
    assert started.journal.readers == {(0, 3): "some"}
    assert started.journal.positions == {0: 4}


def test_a_member_that_is_killed_has_said_its_last_before_it_died(log: Path) -> None:
    started = Started(log, f"{READS}; {COMMITS}", "")
    assert started.hears(2)
    started.member.kill()
    started.member.close()
    assert started.journal.entries == [*STORY, Died("some")]
    assert started.hears(3)


@pytest.mark.parametrize(
    ("joining", "failure"),
    [("sys.exit(1)", ClientBroken), ("""say('{"is": "failed", "message": "no"}')""", ClientFailed)],
)
def test_whoever_waits_learns_of_a_member_in_trouble(
    log: Path, joining: str, failure: type[Exception]
) -> None:
    started = Started(log, joining, "")
    with pytest.raises(failure):
        started.hears(1)
    started.member.close()


def test_a_wait_that_is_in_vain_ends() -> None:
    assert not Journal().wait(lambda: False, 0.01)
