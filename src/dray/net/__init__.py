"""Listening sockets and connections: framing, pipelining, back-pressure."""

from dray.net.connection import Connection, Requests
from dray.net.frames import FrameDecoder, FrameTooLarge
from dray.net.listener import CannotListen, Listener, bind_error_message
from dray.net.metrics import Cause, NetMetrics
from dray.net.settings import NetSettings

__all__ = [
    "CannotListen",
    "Cause",
    "Connection",
    "FrameDecoder",
    "FrameTooLarge",
    "Listener",
    "NetMetrics",
    "NetSettings",
    "Requests",
    "bind_error_message",
]
