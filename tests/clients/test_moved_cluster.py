"""The data of every client, on a cluster that is moved from SQLite to etcd by a backup and its restoration.

Each client writes a topic and reads as a group before the move. After it, every client reads all topics, the
groups continue where they were, and the tables have the same rows. Some records are then in Parquet files and
others in WAL objects; there are batches of all codecs, and groups of both protocols.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.brokers import running_brokers
from tests.cli.invoking import invoke
from tests.clients.commits import positions
from tests.clients.conftest import GROUPS, Programs
from tests.clients.groups import PARTITIONS, Feed, consumer_group
from tests.clients.journal import Journal
from tests.clients.protocol import Record
from tests.clients.registry import CLIENTS, Client
from tests.clients.rules import again, left_out, moved_back
from tests.clients.target import EXTERNAL
from tests.clients.test_cross_reading import fill
from tests.clients.test_groups import starting
from tests.clients.topics import PARTITIONS as TOPIC_PARTITIONS
from tests.clients.topics import assert_shows, new_name
from tests.meta.etcd_cluster import EtcdCluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real("etcd", "spark", *sorted({client.part for client in CLIENTS.values() if client.part})),
    pytest.mark.skipif(bool(EXTERNAL), reason="the test configures brokers of its own"),
]


@dataclass
class Reading:
    """A consumer group, its topic, and what its members have done in both places."""

    client: Client
    feed: Feed
    journal: Journal = field(default_factory=Journal)

    @property
    def name(self) -> str:
        return f"group-of-{self.feed.topic}"

    def resume(self, bootstrap: str, producer: Programs, logs: Path) -> None:
        """Write records, and have a member process all that the group has not."""
        self.feed.producer = producer["librdkafka"]
        protocol = self.client.protocols[-1]  # the newest that it has
        with consumer_group(self.feed, starting(self.client, bootstrap, logs), protocol) as group:
            group.journal = self.journal
            member = group.join(f"{self.name}-{len(self.journal.entries)}")
            group.settle(member)
            member.leave()


@contextmanager
def serving(home: Path, logs: Path, *stores: str) -> Iterator[tuple[str, Programs]]:
    with ExitStack() as running:
        (broker,) = running.enter_context(running_brokers(1, home, (*stores, *GROUPS)))
        logs.mkdir()
        programs = Programs(broker.address, logs)
        running.callback(programs.close)
        yield broker.address, programs


def rows(topic: str, flags: Sequence[str]) -> list[object]:
    query = f'SELECT "partition", "offset", hex(key) AS k, hex(value) AS v FROM "{topic}" ORDER BY ALL'
    ran = invoke("sql", query, "--json", *flags)
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.lines]


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[EtcdCluster]:
    with EtcdCluster(tmp_path / "etcd") as running:
        yield running


def test_records_groups_and_tables_of_all_clients_move_to_etcd(etcd: EtcdCluster, tmp_path: Path) -> None:
    home = tmp_path / "home"
    objects = [f"--storage=file:{home}/objects", f"--set=tables.catalog=sqlite:{home}/tables.sqlite"]
    sqlite = [f"--metadata=sqlite:{home}/metadata.sqlite", *objects]
    networked = [f"--metadata=etcd://{','.join(etcd.addresses)}/moved", *objects]

    with serving(home, tmp_path / "before", *objects) as (bootstrap, programs):
        topics: dict[str, list[Record]] = dict(fill(client, programs) for client in CLIENTS.values())
        compacted = invoke("compactor", "--once", *sqlite)
        assert compacted.code == 0, compacted.err
        readings = []
        for client in CLIENTS.values():
            topic = new_name()  # its records stay in WAL objects
            programs["librdkafka"].create_topic(topic, PARTITIONS)
            readings.append(Reading(client, Feed(topic, programs["librdkafka"])))
            readings[-1].resume(bootstrap, programs, tmp_path)
        committed = {reading.name: positions(bootstrap, reading.name) for reading in readings}
        tables = {topic: rows(topic, sqlite) for topic in topics}

    path = str(tmp_path / "backup")
    for command in (("backup", "--to", path, *sqlite), ("restore", "--from", path, *networked)):
        ran = invoke("metadata", *command)
        assert ran.code == 0, ran.err

    with serving(home, tmp_path / "after", *networked) as (bootstrap, programs):
        for topic, log in topics.items():
            assert tables[topic] == rows(topic, networked)
            for client in CLIENTS.values():
                assert_shows(client, programs[client.name].consume(topic, len(log), TOPIC_PARTITIONS), log)
        for reading in readings:
            assert positions(bootstrap, reading.name) == committed[reading.name]
            reading.resume(bootstrap, programs, tmp_path)
            entries = reading.journal.entries
            assert left_out(entries, reading.feed.log) == []
            assert again(entries) == []
            assert moved_back(entries) == []
            assert positions(bootstrap, reading.name) == reading.feed.ends
