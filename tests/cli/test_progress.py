"""What is told on the way."""

import pytest

from dray.cli.progress import Progress
from dray.runtime import SystemClock


class Stopwatch(SystemClock):
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


async def test_it_tells_when_something_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Stopwatch()
    progress = Progress(clock, "sent")
    await progress._step()
    progress.count(2000, 3_000_000)
    clock.now_s += 2
    await progress._step()
    clock.now_s += 8
    await progress._step()
    progress.finish()
    assert capsys.readouterr().err.splitlines() == [
        "sent 2,000 records, 3,000,000 bytes in 2.0 s (1,000 records/s, 1.5 MB/s)",
        "sent 2,000 records, 3,000,000 bytes in 10.0 s (200 records/s, 0.3 MB/s)",
    ]


def test_one_is_one() -> None:
    progress = Progress(Stopwatch(), "sent")
    assert progress.text().startswith("sent 0 records, 0 bytes in ")
    progress.count(1, 1)
    assert progress.text().startswith("sent 1 record, 1 byte in ")
