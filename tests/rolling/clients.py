"""Clients that must not notice a rolling restart: producers, a reader, and groups of both protocols.

Producers are idempotent. All have librdkafka's own settings, and all they report to their application counts
as an error.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple, Self, get_args

from confluent_kafka.admin import AdminClient

from tests.chaos import rules
from tests.chaos.groups.histories import GroupHistory, Read
from tests.chaos.groups.members import Group, Member, Protocol
from tests.chaos.producers import TOPIC, SteadyProducer, make_topic
from tests.chaos.readers import TailingConsumer, read_everything
from tests.spark.processes import becomes_true

_PRODUCERS = 2
_MEMBERS = 2
_READY_S = 60.0
_DRAINED_S = 60.0


class Result(NamedTuple):
    """What the clients saw."""

    errors: list[str]
    acknowledged: int
    longest_pause_s: float
    """The longest time in which a group read nothing of a partition, once all members were reading."""


class _Members:
    """A group and its history."""

    def __init__(self, protocol: Protocol, bootstrap: str) -> None:
        self.history = GroupHistory()
        group = Group(protocol, TOPIC, protocol, bootstrap, {})
        self.members = [Member(f"{protocol}-{n}", "", group, self.history) for n in range(_MEMBERS)]

    def reads(self) -> list[Read]:
        return [event for event in list(self.history.events) if isinstance(event, Read)]

    def until_read(self, count: int, seconds: float) -> None:
        """Return when every member has read, and all of them so many records, or after the timeout."""
        self.history.await_reads(count, _MEMBERS, seconds)


class RunningClients:
    """The clients while they run."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._producers = [
            SteadyProducer(f"p{number}", bootstrap, zone="", settings={}) for number in range(_PRODUCERS)
        ]
        self._reader = TailingConsumer(bootstrap, {})
        self._groups = [_Members(protocol, bootstrap) for protocol in get_args(Protocol)]
        self._ready_at = 0.0

    @classmethod
    @contextmanager
    def on(cls, bootstrap: str) -> Iterator[Self]:
        """Run the clients until the block ends; `finish` is called inside."""
        make_topic(bootstrap)
        for address in bootstrap.split(","):
            _wait_until_known(address)
        clients = cls(bootstrap)
        members = [member for group in clients._groups for member in group.members]
        for thread in (*clients._producers, clients._reader, *members):
            thread.start()
        try:
            for group in clients._groups:
                group.until_read(1, _READY_S)
            clients._ready_at = time.monotonic()
            yield clients
        finally:
            for producer in clients._producers:
                producer.stopping.set()
            clients._reader.stopping.set()
            for member in members:
                member.leaving.set()

    def finish(self) -> Result:
        """Stop producing, let the groups catch up, and judge what all clients saw."""
        for producer in self._producers:
            producer.stopping.set()
        histories = [producer.finish() for producer in self._producers]
        stored = read_everything(self._bootstrap)
        count = sum(map(len, stored.values()))
        for group in self._groups:
            group.until_read(count, _DRAINED_S)
            for member in group.members:
                member.leaving.set()
                member.finish()
        self._reader.stopping.set()
        errors = [*rules.violations(histories, stored, self._reader.finish()), *self._reader.errors]
        names = {name for records in stored.values() for _, name in records}
        for group in self._groups:
            errors += _group_errors(group, names)
        return Result(errors, count, max(self._longest_pause(group) for group in self._groups))

    def _longest_pause(self, group: _Members) -> float:
        by_partition: dict[int, list[float]] = defaultdict(list)
        for read in group.reads():
            if read.at >= self._ready_at:
                by_partition[read.partition].append(read.at)
        times = map(sorted, by_partition.values())
        return max(later - earlier for one in times for earlier, later in pairwise(one))


def _wait_until_known(address: str) -> None:
    """Return when a broker knows the topic: a build before this one may report it as missing for a moment."""
    admin = AdminClient({"bootstrap.servers": address})

    def known() -> bool:
        return not admin.list_topics(TOPIC, timeout=30).topics[TOPIC].error

    assert becomes_true(known, _READY_S), f"{address} does not know the topic"


def _group_errors(group: _Members, stored: set[str]) -> Iterator[str]:
    """Every record is read once: the members of a group that never rebalances repeat nothing."""
    yield from group.history.failures
    for member in group.members:
        yield from (f"{member.name}: {count} times {name}" for name, count in member.client_errors.items())
    reads = Counter(read.name for read in group.reads())
    protocol = group.members[0].name
    yield from (f"{protocol}: {name} was not read" for name in stored - reads.keys())
    yield from (f"{protocol}: {name} was read {count} times" for name, count in reads.items() if count > 1)
