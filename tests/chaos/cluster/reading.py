"""Reader process: `python -m tests.chaos.cluster.reading ZONE JOURNAL MEMBER BROKER…`.

A member of each group, and a plain reader of each broker that is named; all until SIGTERM. Then the members
leave, and the journal is written.
"""

import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

from tests.chaos.cluster import journals
from tests.chaos.cluster.fetching import Fetched, Fetcher, Partition
from tests.chaos.cluster.journals import Empty, MemberJournal, TailJournal
from tests.chaos.cluster.security import Security
from tests.chaos.cluster.topology import TOPICS, bootstrap, kafka
from tests.chaos.groups.histories import GroupHistory
from tests.chaos.groups.members import Group, Member, Protocol
from tests.chaos.producers import IMPATIENT
from tests.oracle.raw import RawError
from tests.oracle.request_client import Unanswered

_WAIT_MS = 250
_RETRY_S = 0.1
PROTOCOLS: tuple[Protocol, ...] = ("classic", "consumer")


class Tail(threading.Thread):
    """Reads all partitions from one broker until `stopping` is set."""

    def __init__(self, broker: str, security: Security) -> None:
        super().__init__(name=f"tail of {broker}", daemon=True)
        self._security = security
        self.stopping = threading.Event()
        self._broker = broker
        self._positions: dict[Partition, int] = {
            (topic, number): 0 for topic, count in TOPICS.items() for number in range(count)
        }
        self._seen: dict[str, dict[int, list[tuple[int, str]]]] = {
            topic: defaultdict(list) for topic in TOPICS
        }
        self._times: list[float] = []
        self._counts: list[int] = []
        self._empties: list[Empty] = []
        self._errors: Counter[str] = Counter()

    def run(self) -> None:
        fetcher = Fetcher(kafka(self._broker), self._security)
        while not self.stopping.is_set():
            requested_at = time.monotonic()
            try:
                fetched = fetcher.fetch(self._positions, _WAIT_MS)
            except (RawError, Unanswered) as error:
                self._errors[type(error).__name__] += 1
                self.stopping.wait(_RETRY_S)
            else:
                self._take(fetched, requested_at)
        fetcher.close()

    def finish(self) -> TailJournal:
        """Wait until it has stopped; `stopping` must be set."""
        assert self.stopping.is_set()
        self.join(30)
        assert not self.is_alive(), f"{self.name} did not stop"
        seen = {topic: dict(partitions) for topic, partitions in self._seen.items()}
        return TailJournal(self._broker, seen, self._times, self._counts, self._empties, self._errors)

    def _take(self, fetched: dict[Partition, Fetched], requested_at: float) -> None:
        count = sum(len(data.records) for data in fetched.values())
        if count:
            self._times.append(time.monotonic())
            self._counts.append(count)
        for (topic, number), data in fetched.items():
            if data.error:
                self._errors[f"code {data.error}"] += 1
            elif not count:
                offset = self._positions[topic, number]
                self._empties.append(Empty(topic, number, offset, requested_at))
            elif data.records:
                self._seen[topic][number] += data.records
                self._positions[topic, number] = data.records[-1][0] + 1
        if any(data.error for data in fetched.values()):
            self.stopping.wait(_RETRY_S)


def main() -> None:
    zone, path, name, brokers = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    security = Security.of_environment()
    members = [_member(name, zone, protocol, security) for protocol in PROTOCOLS]
    tails = [Tail(broker, security) for broker in brokers]
    for thread in (*(member for member, _ in members), *tails):
        thread.start()
    signal.sigwait({signal.SIGTERM})
    for member, _ in members:
        member.leaving.set()
    for tail in tails:
        tail.stopping.set()
    for member, _ in members:
        member.finish()
    found = [
        MemberJournal(protocol, history.events, history.failures, member.client_errors)
        for protocol, (member, history) in zip(PROTOCOLS, members, strict=True)
    ]
    journals.write(path, journals.Journal(members=found, tails=[tail.finish() for tail in tails]))


def _member(name: str, zone: str, protocol: Protocol, security: Security) -> tuple[Member, GroupHistory]:
    history = GroupHistory()
    settings = {**IMPATIENT, **security.settings()}
    group = Group(f"{protocol}-group", protocol, protocol, bootstrap(zone), settings)
    return Member(f"{name}-{protocol}", zone, group, history), history


if __name__ == "__main__":
    main()
