"""Messages between a supervisor and its processes: lines of JSON over a socket.

The socket is the process's standard input:

    supervisor ─▶ process    its settings, once; the socket is closed when the supervisor exits
    process ─▶ supervisor    `Ready` once it serves; `Failed` when it exits for a known reason

Settings contain secrets, so they are passed neither on the command line nor in the environment, where other
users can read them and child processes inherit them.
"""

from typing import Any, TypeAlias

import msgspec

from dray.settings import DraySettings, Secret


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The broker serves, with this id and at these addresses."""

    broker_id: int
    listen: str
    kafka: str
    http: str


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The process exits; the message is for the user."""

    message: str


Report: TypeAlias = Ready | Failed

_reports = msgspec.json.Decoder(Report)


def settings_line(settings: DraySettings) -> bytes:
    return msgspec.json.encode(settings, enc_hook=_reveal) + b"\n"


def read_settings(line: bytes) -> DraySettings:
    return msgspec.json.decode(line, type=DraySettings, dec_hook=_hide)


def report_line(report: Report) -> bytes:
    return msgspec.json.encode(report) + b"\n"


def read_report(received: bytes) -> Report | None:
    """Return the last report; None if there is none or it is incomplete."""
    return _reports.decode(received.splitlines()[-1]) if received.endswith(b"\n") else None


def _reveal(value: Any) -> str:  # noqa: ANN401 - any type that msgspec does not know
    if isinstance(value, Secret):
        return value.reveal()
    raise NotImplementedError(f"settings hold no {type(value)}")


def _hide(kind: type, text: Any) -> Secret:  # noqa: ANN401 - see above
    if kind is Secret:
        return Secret(text)
    raise NotImplementedError(f"settings hold no {kind}")
