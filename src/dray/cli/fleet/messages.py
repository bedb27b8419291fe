"""What a supervisor and its brokers say to each other, as lines of JSON.

The line between them is a socket, the broker's standard input:

    supervisor ─▶ broker    its settings, and nothing more; the end of the line is the supervisor's own
    broker ─▶ supervisor    `Ready` once it serves; `Failed` when it ends for a reason it can name

Settings hold secrets, so they go neither onto the command line nor into the environment, where others can
read them and children inherit them.
"""

from typing import Any, TypeAlias

import msgspec

from dray.cli.settings import DraySettings, Secret


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The broker serves; its addresses have the ports that were free."""

    listen: str
    kafka: str
    http: str


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The broker ends; the message is for people."""

    message: str


Report: TypeAlias = Ready | Failed

_reports = msgspec.json.Decoder(Report)


def settings_line(settings: DraySettings) -> bytes:
    return msgspec.json.encode(settings, enc_hook=_reveal) + b"\n"


def read_settings(line: bytes) -> DraySettings:
    return msgspec.json.decode(line, type=DraySettings, dec_hook=_hide)


def report_line(report: Report) -> bytes:
    return msgspec.json.encode(report) + b"\n"


def read_report(heard: bytes) -> Report | None:
    """Return the last report; None if none came, or not to its end."""
    return _reports.decode(heard.splitlines()[-1]) if heard.endswith(b"\n") else None


def _reveal(value: Any) -> str:  # noqa: ANN401 - msgspec asks with whatever it does not know
    if isinstance(value, Secret):
        return value.reveal()
    raise NotImplementedError(f"settings hold no {type(value)}")


def _hide(kind: type, text: Any) -> Secret:  # noqa: ANN401 - see above
    if kind is Secret:
        return Secret(text)
    raise NotImplementedError(f"settings hold no {kind}")
