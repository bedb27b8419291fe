"""Ways to misuse a socket, and a look at what they cost."""

import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dray.testing import EmbeddedBroker
from dray.wire.apis.fetch import FetchResponse
from dray.wire.apis.produce import ProduceResponse
from tests.oracle.asking import asking
from tests.oracle.batches import batch
from tests.oracle.requests import Named, fetch, part, produce
from tests.oracle.transcripts import Witness

MIB = 1 << 20


@contextmanager
def connected(broker: EmbeddedBroker) -> Iterator[socket.socket]:
    with socket.create_connection((broker.host, broker.port), timeout=10) as client:
        yield client


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def is_closed(client: socket.socket) -> bool:
    """Whether the other end hangs up without a word, within the time limit of the socket."""
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def serves(broker: EmbeddedBroker, suffix: str) -> None:
    """An ordinary client makes a topic, writes and reads back."""
    with asking((broker.host, broker.port)) as asker:
        topic = Witness(asker, suffix).topic("ordinary")
        assert asker.ask(produce(topic, batch(b"still here")), ProduceResponse).responses
        came = asker.ask(fetch(topic, part()), FetchResponse).responses[0].partitions[0]
        assert b"still here" in b"".join(came.records or ())


def filled_topic(broker: EmbeddedBroker, suffix: str, mebibytes: int) -> Named:
    with asking((broker.host, broker.port)) as asker:
        topic = Witness(asker, suffix).topic("filled", max_message_bytes="1100000")
        for _ in range(mebibytes):
            told = asker.ask(produce(topic, batch(bytes(MIB))), ProduceResponse)
            assert told.responses[0].partition_responses[0].error_code == 0
        return topic


def resident_bytes() -> int:
    """The memory of this process, in which the broker lives."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def until(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Look again and again; for what another thread does and nobody announces."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
    return True
