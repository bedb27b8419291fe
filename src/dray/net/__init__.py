"""Listening sockets and connections: TLS, limits, framing, pipelining, back-pressure."""

from dray.net.connection import Connection
from dray.net.connection_owner import Requests
from dray.net.frames import FrameDecoder, FrameTooLarge
from dray.net.metrics import Cause, NetMetrics
from dray.net.server import SocketServer
from dray.net.settings import NetSettings
from dray.net.sockets import CannotListen, bind_error_message
from dray.net.spec import Begin, Channel, Gate, ListenerSpec, ListenerTls

__all__ = [
    "Begin",
    "CannotListen",
    "Cause",
    "Channel",
    "Connection",
    "FrameDecoder",
    "FrameTooLarge",
    "Gate",
    "ListenerSpec",
    "ListenerTls",
    "NetMetrics",
    "NetSettings",
    "Requests",
    "SocketServer",
    "bind_error_message",
]
