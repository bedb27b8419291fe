"""Structured logs: fields of a line, levels, context, secrets, lines of libraries."""

import asyncio
import json
import logging
import warnings
from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from typing import Any

import pytest

from dray.observe import configure, get_logger, logged_fields


@pytest.fixture
def out() -> Iterator[StringIO]:
    """A stream to configure logging with; the configuration of the process is restored afterwards."""
    root, ours = logging.getLogger(), logging.getLogger("dray")
    before = root.handlers[:], root.level, ours.level
    logging.captureWarnings(capture=False)  # another test may have left it on, with warnings going elsewhere
    yield StringIO()
    root.handlers[:], root.level, ours.level = before
    logging.captureWarnings(capture=False)
    logging.Logger.manager._clear_cache()  # type: ignore[attr-defined]


def _lines(out: StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_line_has_time_level_logger_event_and_fields(out: StringIO) -> None:
    configure("json", "info", out)
    get_logger("log").bind(stream="s-1").info("flushed", size_bytes=10, path=b"x")
    (line,) = _lines(out)
    assert datetime.fromisoformat(line.pop("ts")).utcoffset() is not None
    assert line == {
        "level": "info",
        "logger": "log",
        "event": "flushed",
        "stream": "s-1",
        "size_bytes": 10,
        "path": "b'x'",
    }


def test_disabled_level_neither_writes_nor_builds_a_line(
    out: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure("json", "warning", out)
    log = get_logger("log")
    log.debug("a")
    log.info("b")
    log.warning("c")
    log.error("d")
    assert [line["event"] for line in _lines(out)] == ["c", "d"]
    monkeypatch.setattr(log, "_proxy_to_logger", lambda *_, **__: pytest.fail("built a line"))
    log.info("e")


def test_new_level_applies_to_existing_loggers(out: StringIO) -> None:
    log = get_logger("log")
    configure("json", "error", out)
    log.info("before")
    configure("json", "debug", out)
    log.debug("after")
    assert [line["event"] for line in _lines(out)] == ["after"]


async def test_context_fields_are_inherited_by_tasks_and_end_with_the_block(out: StringIO) -> None:
    configure("json", "info", out)
    log = get_logger("net")

    async def handle() -> None:
        log.info("inside")

    with logged_fields(correlation_id=7, trace_id="t"):
        task = asyncio.get_running_loop().create_task(handle())
    await task
    log.info("outside")
    inside, outside = _lines(out)
    assert (inside["correlation_id"], inside["trace_id"]) == (7, "t")
    assert "correlation_id" not in outside


def test_secrets_are_masked_at_any_depth(out: StringIO) -> None:
    configure("json", "info", out)
    get_logger("net").info(
        "login",
        password="hunter2",
        sasl_Password="hunter2",
        settings={"s3": {"secret_access_key": "hunter2", "region": "eu"}, "token": b"hunter2"},
        user="ann",
    )
    logging.getLogger("library").error("oops", extra={"credentials": "hunter2"})
    assert "hunter2" not in out.getvalue()
    ours, theirs = _lines(out)
    assert ours["user"] == "ann"
    assert ours["settings"] == {"s3": {"secret_access_key": "***", "region": "eu"}, "token": "***"}
    assert theirs["credentials"] == "***"


def test_secrets_are_masked_without_configure(caplog: pytest.LogCaptureFixture) -> None:
    get_logger("net").error("login", password="hunter2")
    (record,) = caplog.records
    assert isinstance(record.msg, dict)
    assert record.msg["password"] == "***"


def _fails() -> None:
    password = "hunter" + str(2)
    raise ValueError(f"bad value of {len(password)} characters")


@pytest.mark.parametrize("log_format", ["json", "pretty"])
def test_traceback_has_no_local_variables(out: StringIO, log_format: Any) -> None:
    configure(log_format, "info", out)
    try:
        _fails()
    except ValueError as failure:
        get_logger("log").error("failed", exc_info=failure)
        logging.getLogger("library").exception("failed too")
    text = out.getvalue()
    assert text.count("ValueError: bad value of 7 characters") == 2
    assert text.count("Traceback") == 2
    assert "hunter2" not in text


def test_libraries_log_warnings_and_above_in_the_same_format(out: StringIO) -> None:
    configure("json", "debug", out)
    library = logging.getLogger("library.part")
    library.info("chatter")
    library.warning("took %d s", 3)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old call", DeprecationWarning, stacklevel=1)
    lines = {line["logger"]: line for line in _lines(out) if "ResourceWarning" not in line["event"]}
    assert (lines["library.part"]["event"], lines["library.part"]["level"]) == ("took 3 s", "warning")
    assert "old call" in lines["py.warnings"]["event"]


def test_pretty_format_has_no_colors_without_a_terminal(out: StringIO) -> None:
    configure("pretty", "info", out)
    get_logger("log").info("flushed", size_bytes=10)
    (line,) = out.getvalue().splitlines()
    assert "flushed" in line
    assert "size_bytes=10" in line
    assert "\x1b" not in line
