"""Failed connections, as librdkafka reports them in the background.

A client retries on its own, so these reports never end anything by themselves. They give the reason when a
request or delivery has taken too long, and say when the first contact has failed at every address.
"""

import re
from typing import Final

from confluent_kafka import KafkaError

_REPORT: Final = re.compile(
    r"^(?:\w+://)?(\S+)/(\w+): (.*?)(?: \(after \d+ms in state (\w+)\).*)?$", re.DOTALL
)
_CONNECT: Final = re.compile(r"^Connect to \S+ failed: ")
_HTTP_SIZE: Final = f"Invalid response size {int.from_bytes(b'HTTP', 'big')} "
"""What librdkafka makes of `HTTP/1.1 400 …`: the first four bytes of a response are its size."""
_BOOTSTRAP: Final = "bootstrap"


class ConnectionErrors:
    """Keeps what a client reports: an `error_cb`, and for the first contact also a `logger`."""

    def __init__(self) -> None:
        self.all_down = False
        self.reasons: list[str] = []
        self.last: str | None = None

    def on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - public, see `errors`
            self.all_down = True
        else:
            self._add(error.str())

    def log(self, _: int, text: str, *arguments: object) -> None:
        """Take a line of librdkafka's log; a connection that is merely closed is reported nowhere else."""
        line = text % arguments if arguments else text
        if line.startswith("FAIL "):
            self._add(line.partition("]: ")[2])

    def _add(self, text: str) -> None:
        found = _REPORT.match(text)
        if found is None:
            self.last = text
            return
        address, broker, reason, state = found.groups()
        reason = _CONNECT.sub("", reason)
        if _HTTP_SIZE in reason:
            reason = "it speaks HTTP, not Kafka"
        elif state == "APIVERSION_QUERY" and reason.startswith("Disconnected"):
            reason = "it closed the connection; is it a Kafka listener, without TLS (see --command-config)?"
        if broker == _BOOTSTRAP:
            self.reasons.append(reason)
            self.last = f"cannot connect to {address} ({reason})"
        else:
            self.last = (
                f"cannot connect to broker {broker} at {address}, the address it advertises ({reason})"
            )
