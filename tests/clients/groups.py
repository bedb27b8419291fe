"""Consumer group under test: its topic, which grows while it reads, its members, and its journal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from tests.clients.journal import Journal
from tests.clients.members import Member
from tests.clients.process import ClientProcess
from tests.clients.protocol import GroupProtocol, Join, Record

PARTITIONS: Final = 12
PROCESS_S: Final = 40.0
"""How long a group may take for what there is; the broker misses a killed member only after its session."""
SHARE_S: Final = 40.0


@dataclass(slots=True)
class Feed:
    """A topic and its records."""

    topic: str
    producer: ClientProcess
    log: list[Record] = field(default_factory=list)

    def grow(self, count: int) -> list[Record]:
        """Write that many records to each partition and return them."""
        first = len(self.log) // PARTITIONS
        news = [
            Record(value=f"record {offset} of {partition}".encode(), partition=partition, offset=offset)
            for offset in range(first, first + count)
            for partition in range(PARTITIONS)
        ]
        placed = self.producer.produce(self.topic, news)
        assert placed == [(record.partition, record.offset) for record in news]
        self.log += news
        return news

    @property
    def ends(self) -> dict[int, int]:
        return dict.fromkeys(range(PARTITIONS), len(self.log) // PARTITIONS)


class Group:
    """A group whose members are all of one client library."""

    def __init__(self, feed: Feed, start: Callable[[str], ClientProcess], protocol: GroupProtocol) -> None:
        self.name = f"group-of-{feed.topic}"
        self.journal = Journal()
        self._feed = feed
        self._start = start
        self._request = Join(feed.topic, self.name, protocol)
        self._members: list[Member] = []

    def join(self, name: str) -> Member:
        self._members.append(Member(name, self._start(name), self._request, self.journal))
        return self._members[-1]

    def close(self) -> None:
        for member in self._members:
            member.close()

    def settle(self, *members: Member) -> None:
        """Write records until exactly these members have read some of them and committed all."""
        deadline = time.monotonic() + SHARE_S
        while self._shares(self._feed.grow(10)) != {member.name for member in members}:
            assert time.monotonic() < deadline, (
                f"not shared after {SHARE_S} s: {self._shares(self._feed.log)}"
            )

    def finish(self) -> None:
        """Wait until all records have been processed and committed."""
        done = self.journal.wait(lambda: self.journal.positions == self._feed.ends, PROCESS_S)
        assert done, f"of {self._feed.ends} only {self.journal.positions} is committed after {PROCESS_S} s"

    def await_reading(self, member: Member, news: list[Record]) -> None:
        """Wait until the member has processed some of the records."""
        places = {(record.partition, record.offset) for record in news}

        def reads() -> bool:
            return any(self.journal.readers.get(place) == member.name for place in places)

        assert self.journal.wait(reads, PROCESS_S), f"{member.name} has read nothing after {PROCESS_S} s"

    def _shares(self, news: list[Record]) -> set[str]:
        self.finish()
        return {self.journal.readers[record.partition, record.offset] for record in news}


@contextmanager
def consumer_group(
    feed: Feed, start: Callable[[str], ClientProcess], protocol: GroupProtocol
) -> Iterator[Group]:
    group = Group(feed, start, protocol)
    try:
        yield group
    finally:
        group.close()
