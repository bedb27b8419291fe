"""What clients are told as a number, the operator is told in words, and not at every request."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dray.log import LogDamaged, NotStored
from tests.log.builders import Rig, simulated


@contextmanager
def heard() -> Iterator[list[dict[str, Any]]]:
    """What the log room says meanwhile."""
    lines: list[dict[str, Any]] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert isinstance(record.msg, dict)
            lines.append(record.msg)

    ear, room = Ear(), logging.getLogger("dray.log")
    room.addHandler(ear)
    try:
        yield lines
    finally:
        room.removeHandler(ear)


@simulated
async def test_damaged_records_are_told_once_a_minute(rig: Rig) -> None:
    writer = await rig.open()
    await writer.append("a")
    for path in rig.paths():
        rig.bucket.delete(path)
    reader = await rig.open("b")
    with heard() as lines:
        for _ in range(3):
            with pytest.raises(LogDamaged):
                await reader.tags()
        assert [line["event"] for line in lines] == ["records_damaged"]
        assert "there is no such object" in lines[0]["error"]
        await rig.settle(61)
        with pytest.raises(LogDamaged):
            await reader.tags()
        assert len(lines) == 2


@simulated
async def test_batches_that_are_not_stored_are_told(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("a")
    opened.link.faults["commit"] = "refuse"
    with heard() as lines, pytest.raises(NotStored):
        await opened.append("b")
    assert [line["event"] for line in lines if line["level"] == "warning"] == ["store_fails"]
