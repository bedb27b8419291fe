"""Three processes that append to one stream in one SQLite file, and are killed repeatedly."""

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dray.ids import StreamId
from dray.log import Log
from dray.testing.sim.batches import read_tags
from tests.log.appending_process import open_log

_STREAM = StreamId(77)
_ROOT = Path(__file__).parents[2]
_PROCESSES = 3
_KILLS = 12
_LINES_BEFORE_KILL = 160


class _Appender:
    """A process and the lines that it printed."""

    def __init__(self, directory: Path, name: str) -> None:
        command = [sys.executable, "-m", "tests.log.appending_process", str(directory), str(_STREAM), name]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT)
        self.lines: list[str] = []

    def read(self, count: int) -> None:
        assert self.process.stdout is not None
        for _ in range(count):
            line = self.process.stdout.readline()
            assert line.endswith("\n"), f"process ended with {self.process.wait()}"
            self.lines.append(line)

    def kill(self) -> None:
        assert self.process.stdout is not None
        self.process.kill()
        self.lines += [line for line in self.process.stdout if line.endswith("\n")]
        self.process.wait()
        self.process.stdout.close()


@contextmanager
def _appenders(directory: Path) -> Iterator[list[_Appender]]:
    """Yield a list for started processes, and kill those that still run at the end."""
    started: list[_Appender] = []
    try:
        yield started
    finally:
        for appender in started:
            if appender.process.poll() is None:
                appender.kill()


@pytest.mark.slow
async def test_acknowledged_batches_survive_kills_of_any_process(tmp_path: Path) -> None:
    async with open_log(tmp_path) as log:
        await log.create_stream(_STREAM)
    chosen = random.Random(5)
    with _appenders(tmp_path) as started:
        started += [_Appender(tmp_path, f"p{number}") for number in range(_PROCESSES)]
        running = list(started)
        for number in range(_PROCESSES, _PROCESSES + _KILLS):
            victim = running.pop(0)
            victim.read(chosen.randrange(8, _LINES_BEFORE_KILL))
            victim.kill()
            started.append(_Appender(tmp_path, f"p{number}"))
            running.append(started[-1])
        for appender in running:
            appender.read(8)
    await _check(tmp_path, [line.split() for appender in started for line in appender.lines])


async def _check(directory: Path, lines: list[list[str]]) -> None:
    sent = {words[1] for words in lines if words[0] == "sent"}
    acked = {words[1]: int(words[2]) for words in lines if words[0] == "acked"}
    async with open_log(directory) as log:
        batches = await _read_all(log)
    at = {tag: base for base, _, tag in batches}
    assert [base for base, _, _ in batches] == [2 * number for number in range(len(batches))]
    assert len(at) == len(batches), "a batch is stored twice"
    assert {tag: at.get(tag) for tag in acked} == acked
    # The last line a killed process wrote may be lost; it may have sent one window more than it printed.
    assert len(at.keys() - sent) <= 4 * (_PROCESSES + _KILLS)
    assert len(acked) > 20 * _KILLS


async def _read_all(log: Log) -> list[tuple[int, int, str]]:
    found = await log.read(_STREAM, 0, 1 << 20)
    batches = list(read_tags(found.parts))
    while found.parts:
        found = await log.read(_STREAM, found.next_offset, 1 << 20)
        batches += read_tags(found.parts)
    return batches
