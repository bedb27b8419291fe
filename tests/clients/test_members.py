"""Group member handles, tested with a small Python program."""

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
    """A member whose program sends some responses when it joins and others when asked to leave."""

    def __init__(self, log: Path, joining: str, leaving: str) -> None:
        code = (
            "import sys\n"
            "def say(text): print(text, flush=True)\n"
            f"sys.stdin.readline()\n{joining}\nsys.stdin.readline()\n{leaving}"
        )
        self.journal = Journal()
        program = ClientProcess([sys.executable, "-c", code], log)
        self.member = Member("some", program, Join("topic", "group"), self.journal)

    def hears(self, count: int) -> bool:
        return self.journal.wait(lambda: len(self.journal.entries) == count, HEARD_S)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "some.log"


def test_journal_records_a_member_until_it_leaves(log: Path) -> None:
    started = Started(log, f"{READS}; {COMMITS}", """say('{"is": "done"}')""")
    assert started.hears(2)
    started.member.leave()
    started.member.close()
    assert started.journal.entries == STORY
    assert started.journal.readers == {(0, 3): "some"}
    assert started.journal.positions == {0: 4}


def test_reports_of_a_killed_member_precede_its_death(log: Path) -> None:
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
def test_failed_member_fails_the_waiting_test(log: Path, joining: str, failure: type[Exception]) -> None:
    started = Started(log, joining, "")
    with pytest.raises(failure):
        started.hears(1)
    started.member.close()


def test_wait_times_out() -> None:
    assert not Journal().wait(lambda: False, 0.01)
