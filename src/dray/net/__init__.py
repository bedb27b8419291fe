"""Sockets: listener, connection, framing, pipelining, back-pressure."""

from dray.net.connection import Connection, Requests
from dray.net.frames import FrameCutter, FrameTooLarge
from dray.net.listener import CannotListen, Listener
from dray.net.metrics import Cause, NetMetrics
from dray.net.settings import NetSettings
from dray.net.unbound import why_unbound

__all__ = [
    "CannotListen",
    "Cause",
    "Connection",
    "FrameCutter",
    "FrameTooLarge",
    "Listener",
    "NetMetrics",
    "NetSettings",
    "Requests",
    "why_unbound",
]
