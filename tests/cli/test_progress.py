"""Progress lines of produce and consume."""

import pytest

from dray.cli.terminal.output import Progress
from dray.runtime import SystemClock


class Stopwatch(SystemClock):
    """A clock set by the test."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


def test_progress_is_printed_once_a_second_when_it_changed(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Stopwatch()
    progress = Progress(clock, "sent")
    progress.report()
    progress.records, progress.size_bytes = 2000, 3_000_000
    progress.report()
    clock.now_s += 2
    progress.report()
    clock.now_s += 8
    progress.report()
    progress.finish()
    assert capsys.readouterr().err.splitlines() == [
        "sent 2,000 records, 3,000,000 bytes in 2.0 s (1,000 records/s, 1.5 MB/s)",
        "sent 2,000 records, 3,000,000 bytes in 10.0 s (200 records/s, 0.3 MB/s)",
    ]


def test_one_record_and_one_byte_are_singular() -> None:
    progress = Progress(Stopwatch(), "sent")
    assert progress.text().startswith("sent 0 records, 0 bytes in ")
    progress.records = progress.size_bytes = 1
    assert progress.text().startswith("sent 1 record, 1 byte in ")
