"""Logs and metrics."""

from dray.observe.instruments import Counter, Gauge, Histogram, Instrument
from dray.observe.logs import (
    LevelName,
    LogFormat,
    Logger,
    chosen_format,
    configure,
    get_logger,
    logged_fields,
    logging_to,
)
from dray.observe.metrics import LATENCY_SECONDS, SIZE_BYTES, Metrics, PackageMetrics

__all__ = [
    "LATENCY_SECONDS",
    "SIZE_BYTES",
    "Counter",
    "Gauge",
    "Histogram",
    "Instrument",
    "LevelName",
    "LogFormat",
    "Logger",
    "Metrics",
    "PackageMetrics",
    "chosen_format",
    "configure",
    "get_logger",
    "logged_fields",
    "logging_to",
]
