"""Structured logs: one line is one event with named fields.

A room asks `get_logger(room)` once and says what happened: `log.warning("flush_failed", stream=s, tries=3)`.
Fields bound with `logged_fields(correlation_id=...)` are added to every line written inside that block, in
every room, and in every task started there.

The way of a line: room logger → fields of the context → secrets masked → stdlib logger `dray.<room>` → the
handlers this process has. `configure` gives the process one handler that renders JSON lines or pretty ones,
for our lines and those of libraries alike. Without `configure` (Dray inside somebody else's process) the
host's own logging setup decides; we never touch structlog's global configuration.

A line whose level is off costs one cached look-up; nothing is built for it. Tracebacks are rendered without
local variables, which may hold secrets or records.
"""

import logging
from collections.abc import Mapping
from typing import Final, Literal, TextIO

import structlog
from structlog.contextvars import bound_contextvars as logged_fields
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor, WrappedLogger

from dray.observe.masking import mask_secrets

LogFormat = Literal["json", "pretty"]
LevelName = Literal["debug", "info", "warning", "error"]

ROOT: Final = "dray"

__all__ = ["LevelName", "LogFormat", "RoomLogger", "configure", "get_logger", "logged_fields"]


class RoomLogger(structlog.BoundLoggerBase):
    """What a room writes its events to; `bind` returns one that adds fields to each line."""

    def debug(self, event: str, **fields: object) -> None:
        self._write(logging.DEBUG, "debug", event, fields)

    def info(self, event: str, **fields: object) -> None:
        self._write(logging.INFO, "info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._write(logging.WARNING, "warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Log a failure; pass the exception as `exc_info` to have its traceback in the line."""
        self._write(logging.ERROR, "error", event, fields)

    def _write(self, level: int, method: str, event: str, fields: Mapping[str, object]) -> None:
        if self._logger.isEnabledFor(level):
            self._proxy_to_logger(method, event, **fields)


def get_logger(room: str) -> RoomLogger:
    return RoomLogger(logging.getLogger(f"{ROOT}.{room}"), _OURS, {"room": room})


def configure(log_format: LogFormat, level: LevelName, stream: TextIO) -> None:
    """Send every line of this process, ours and libraries', to `stream`; replaces what was set up before.

    `level` is for our own lines; libraries are heard from warnings upwards, or as `level` if that is higher.
    """
    ours = logging.getLevelNamesMapping()[level.upper()]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_formatter(log_format, colours=stream.isatty()))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(ours, logging.WARNING))
    logging.getLogger(ROOT).setLevel(ours)
    logging.captureWarnings(capture=True)


def _formatter(log_format: LogFormat, *, colours: bool) -> ProcessorFormatter:
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts")
    tail: list[Processor]
    if log_format == "json":
        tail = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    else:
        plain = structlog.dev.plain_traceback
        tail = [structlog.dev.ConsoleRenderer(colors=colours, timestamp_key="ts", exception_formatter=plain)]
    return ProcessorFormatter(
        foreign_pre_chain=_FOREIGN,
        processors=[stamp, ProcessorFormatter.remove_processors_meta, *tail],
    )


def _room_of_library(_: WrappedLogger, __: str, event_dict: EventDict) -> EventDict:
    """Name the library where our own lines name the room."""
    record = event_dict.get("_record")
    event_dict["room"] = record.name if isinstance(record, logging.LogRecord) else "unknown"
    return event_dict


_OURS: Final[list[Processor]] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    mask_secrets,
    ProcessorFormatter.wrap_for_formatter,
]
_FOREIGN: Final[list[Processor]] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(),
    _room_of_library,
    mask_secrets,
]
