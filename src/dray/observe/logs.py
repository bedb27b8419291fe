"""Structured logs: one line is one event with named fields.

A package calls `get_logger(name)` once and logs events: `log.warning("flush_failed", stream=s, tries=3)`.
Fields bound with `logged_fields(correlation_id=...)` are added to every line logged inside that block, by any
package, and in every task started there.

A line passes: logger → fields of the context → secrets masked → stdlib logger `dray.<name>` → the handlers of
the process. `configure` gives the process one handler that renders JSON or pretty lines, for Dray and for
libraries alike. Without `configure` (Dray embedded in another application) the application's logging setup
applies; structlog's global configuration is never touched.

A line below the log level costs one cached lookup; nothing is built for it. Tracebacks are rendered without
local variables, which may hold secrets or records.

Secrets are masked by the name under which a value is logged, at any depth of mappings. That is the last line
of defense: values that hold secrets should not be logged at all.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, TextIO

import structlog
from structlog.contextvars import bound_contextvars as logged_fields
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor, WrappedLogger

LogFormat = Literal["json", "pretty"]
LevelName = Literal["debug", "info", "warning", "error"]

ROOT: Final = "dray"
MASK: Final = "***"
_SECRET_NAME: Final = re.compile(
    r"passw|secret|token|credential|private_?key|access_?key|authorization", re.IGNORECASE
)

__all__ = [
    "LevelName",
    "LogFormat",
    "Logger",
    "chosen_format",
    "configure",
    "get_logger",
    "logged_fields",
    "logging_to",
]


class Logger(structlog.BoundLoggerBase):
    """Logs the events of one package; `bind` returns a logger that adds fields to each line."""

    def debug(self, event: str, **fields: object) -> None:
        self._write(logging.DEBUG, "debug", event, fields)

    def info(self, event: str, **fields: object) -> None:
        self._write(logging.INFO, "info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._write(logging.WARNING, "warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Log a failure; pass the exception as `exc_info` to log its traceback."""
        self._write(logging.ERROR, "error", event, fields)

    def _write(self, level: int, method: str, event: str, fields: Mapping[str, object]) -> None:
        if self._logger.isEnabledFor(level):
            self._proxy_to_logger(method, event, **fields)


def get_logger(name: str) -> Logger:
    return Logger(logging.getLogger(f"{ROOT}.{name}"), _OURS, {"logger": name})


def configure(log_format: LogFormat, level: LevelName, stream: TextIO) -> None:
    """Send all log lines of this process to `stream`; replaces any earlier configuration.

    `level` applies to Dray's own lines; libraries log warnings and above, or `level` if that is higher.
    """
    ours = logging.getLevelNamesMapping()[level.upper()]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_formatter(log_format, colors=stream.isatty()))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(ours, logging.WARNING))
    logging.getLogger(ROOT).setLevel(ours)
    logging.captureWarnings(capture=True)


@contextmanager
def logging_to(
    stream: TextIO, name: str, log_format: LogFormat | Literal["auto"], level: LevelName
) -> Iterator[None]:
    """Send the log lines of one package to `stream` meanwhile, in a process without other logs."""
    logger, handler = logging.getLogger(f"{ROOT}.{name}"), logging.StreamHandler(stream)
    handler.setFormatter(_formatter(chosen_format(log_format, stream), colors=stream.isatty()))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.getLevelNamesMapping()[level.upper()])
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def chosen_format(log_format: LogFormat | Literal["auto"], stream: TextIO) -> LogFormat:
    """Return the format of lines on `stream`; `auto` is pretty on a terminal, and JSON elsewhere."""
    if log_format != "auto":
        return log_format
    return "pretty" if stream.isatty() else "json"


def _formatter(log_format: LogFormat, *, colors: bool) -> ProcessorFormatter:
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts")
    tail: list[Processor]
    if log_format == "json":
        tail = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    else:
        plain = structlog.dev.plain_traceback
        tail = [structlog.dev.ConsoleRenderer(colors=colors, timestamp_key="ts", exception_formatter=plain)]
    return ProcessorFormatter(
        foreign_pre_chain=_FOREIGN,
        processors=[stamp, ProcessorFormatter.remove_processors_meta, *tail],
    )


def _name_library(_: WrappedLogger, __: str, event_dict: EventDict) -> EventDict:
    """Set the name of the library's logger, as our own lines have it."""
    record = event_dict.get("_record")
    event_dict["logger"] = record.name if isinstance(record, logging.LogRecord) else "unknown"
    return event_dict


def mask_secrets(_: WrappedLogger, __: str, event_dict: EventDict) -> EventDict:
    """Mask the values of fields with the name of a secret (a structlog processor)."""
    for name, value in event_dict.items():
        if _SECRET_NAME.search(name):
            event_dict[name] = MASK
        elif isinstance(value, Mapping):
            event_dict[name] = masked(value)
    return event_dict


def masked(fields: Mapping[object, object]) -> dict[object, object]:
    """Return a copy of `fields` with its secrets masked."""
    return {name: _masked_value(name, value) for name, value in fields.items()}


def _masked_value(name: object, value: object) -> object:
    if isinstance(name, str) and _SECRET_NAME.search(name):
        return MASK
    return masked(value) if isinstance(value, Mapping) else value


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
    _name_library,
    mask_secrets,
]
