"""Producers of three libraries that write over SASL_SSL until they are stopped, each with its mechanism."""

import re
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.clients.certificates import serial_number
from tests.clients.process import ClientProcess
from tests.clients.secured import CERTIFICATE, SecuredBroker, secured_dray
from tests.clients.security import Mechanism
from tests.clients.topics import new_name

MECHANISMS: Final[Mapping[str, Mechanism]] = {
    "librdkafka": "SCRAM-SHA-256",
    "java": "PLAIN",
    "franz-go": "OAUTHBEARER",
}
"""By library; the administrator has SCRAM-SHA-512."""
SETTINGS: Final = {"tls.reload_interval_ms": "100", "sasl.connections_max_reauth_ms": "3000"}
"""Clients authenticate again after 85 to 95 % of a lifetime, franz-go a second before its end.

With less than two seconds it would do so more often than once a second, which brokers refuse.
"""
PROGRESS_S: Final = 60.0
_PAUSE_S: Final = 0.05
_REPORTED: Final = 50
_REPEATED: Final = re.compile(
    r'^dray_net_authentications_total\{mechanism="([^"]+)",outcome="repeated"\} (\S+)$', re.MULTILINE
)


def repeated(http: str) -> dict[str, int]:
    """Return how many re-authentications there were by mechanism, from the metrics of a broker."""
    with urllib.request.urlopen(f"http://{http}/metrics", timeout=PROGRESS_S) as response:
        found = _REPEATED.findall(response.read().decode())
    return {mechanism: int(float(count)) for mechanism, count in found}


@dataclass(frozen=True, slots=True)
class Load:
    """The running producers by topic."""

    secured: SecuredBroker
    producers: Mapping[str, ClientProcess]
    watching: Consumer

    def ends(self) -> dict[str, int]:
        """Return the end offset of each topic."""
        return {
            topic: self.watching.get_watermark_offsets(TopicPartition(topic, 0), PROGRESS_S)[1]
            for topic in self.producers
        }

    def await_progress(self) -> None:
        """Wait until every producer has written some more."""
        before, deadline = self.ends(), time.monotonic() + PROGRESS_S
        while any(end <= before[topic] for topic, end in self.ends().items()):
            assert time.monotonic() < deadline, f"of {before} not all have grown: {self.ends()}"
            threading.Event().wait(_PAUSE_S)

    def rotate(self) -> None:
        """Replace the broker's certificate, wait until a connection gets it, and connect a new client."""
        authority, address = self.secured.secrets.authority, self.secured.listeners["SASL_SSL"]
        wanted = authority.issue(CERTIFICATE).content.serial_number
        deadline = time.monotonic() + PROGRESS_S
        while serial_number(address, authority.file) != wanted:
            assert time.monotonic() < deadline, "the broker still has the previous certificate"
            threading.Event().wait(_PAUSE_S)
        assert AdminClient(self.secured.admin).list_topics(timeout=PROGRESS_S).topics

    def finish(self) -> None:
        """Stop the producers; every record that one has sent must be in the log, once and in order."""
        placed = {topic: producer.end_load() for topic, producer in self.producers.items()}
        for topic, end in self.ends().items():
            assert placed[topic] == [(0, offset) for offset in range(end)]
            assert end > 0


def rotate_many(home: Path, rotations: int, report: Callable[[str], None]) -> int:
    """Replace certificates while sessions end; returns how many records were written."""
    with secured_dray(home / "dray", SETTINGS) as secured, running_load(secured, home) as load:
        for number in range(1, rotations + 1):
            load.rotate()
            load.await_progress()
            if number % _REPORTED == 0:
                report(f"{number} of {rotations} certificates")
        return sum(load.ends().values())


@contextmanager
def running_load(secured: SecuredBroker, folder: Path) -> Iterator[Load]:
    with ExitStack() as running:
        watching = Consumer(secured.admin | {"group.id": "watching"})
        running.callback(watching.close)
        producers = {}
        for name, mechanism in MECHANISMS.items():
            topic = new_name()
            secured.create_topic(topic)
            login = secured.secrets.by(mechanism, name)
            producers[topic] = secured.program(name, login, folder / name)
            running.callback(producers[topic].close)
            producers[topic].begin_load(topic)
        load = Load(secured, producers, watching)
        load.await_progress()
        yield load
        load.finish()
