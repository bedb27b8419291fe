"""Logs and metrics: what an operator sees of a running Dray."""

from dray.observe.instruments import Counter, Gauge, Histogram, Instrument
from dray.observe.logs import LevelName, LogFormat, RoomLogger, configure, get_logger, logged_fields
from dray.observe.metrics import LATENCY_SECONDS, SIZE_BYTES, Metrics, RoomMetrics

__all__ = [
    "LATENCY_SECONDS",
    "SIZE_BYTES",
    "Counter",
    "Gauge",
    "Histogram",
    "Instrument",
    "LevelName",
    "LogFormat",
    "Metrics",
    "RoomLogger",
    "RoomMetrics",
    "configure",
    "get_logger",
    "logged_fields",
]
