"""Error reports: errors that clients see only as a number are logged, at a limited rate."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dray.log import LogDamaged, NotStored
from tests.log.builders import Rig, simulated


@contextmanager
def captured_log() -> Iterator[list[dict[str, Any]]]:
    """Collect the lines of the `dray.log` logger."""
    lines: list[dict[str, Any]] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert isinstance(record.msg, dict)
            lines.append(record.msg)

    collector, logger = Collector(), logging.getLogger("dray.log")
    logger.addHandler(collector)
    try:
        yield lines
    finally:
        logger.removeHandler(collector)


@simulated
async def test_damaged_records_are_logged_once_a_minute(rig: Rig) -> None:
    writer = await rig.open()
    await writer.append("a")
    for path in rig.paths():
        rig.bucket.delete(path)
    reader = await rig.open("b")
    with captured_log() as lines:
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
async def test_batch_that_is_not_stored_is_logged(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("a")
    opened.link.faults["commit"] = "refuse"
    with captured_log() as lines, pytest.raises(NotStored):
        await opened.append("b")
    assert [line["event"] for line in lines if line["level"] == "warning"] == ["store_unavailable"]
