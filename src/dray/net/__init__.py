"""Sockets: listener, connection, framing, pipelining, back-pressure."""

from dray.net.connection import Answer, CloseConnection, Connection, Peer, Requests
from dray.net.frames import FrameCutter, FrameTooLarge
from dray.net.listener import CannotListen, Listener
from dray.net.settings import NetSettings

__all__ = [
    "Answer",
    "CannotListen",
    "CloseConnection",
    "Connection",
    "FrameCutter",
    "FrameTooLarge",
    "Listener",
    "NetSettings",
    "Peer",
    "Requests",
]
