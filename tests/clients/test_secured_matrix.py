"""The matrix over SASL_SSL with ACLs: each library as a user of its own that may do only what it needs.

The rules are those of `test_matrix` and `test_groups`, the mechanism is SCRAM-SHA-512.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.clients.commits import committed
from tests.clients.conftest import GROUPS, Programs
from tests.clients.groups import PARTITIONS, Feed, consumer_group
from tests.clients.process import ClientProcess
from tests.clients.protocol import GroupProtocol
from tests.clients.registry import Client
from tests.clients.rules import again, left_out, moved_back
from tests.clients.secured import SecuredBroker, secured_dray
from tests.clients.target import EXTERNAL
from tests.clients.test_groups import every_protocol
from tests.clients.test_matrix import (
    test_by_default_a_record_has_the_time_of_writing,
    test_creates_a_topic,
    test_produces_with_idempotence_on_and_off,
    test_reads_back_what_it_wrote,
    test_record_too_large_for_the_topic_is_refused,
    test_records_of_a_mebibyte_are_read,
    test_starts_at_a_time,
    test_starts_at_an_offset,
    test_starts_at_the_end,
)

__all__ = [
    "test_by_default_a_record_has_the_time_of_writing",
    "test_creates_a_topic",
    "test_produces_with_idempotence_on_and_off",
    "test_reads_back_what_it_wrote",
    "test_record_too_large_for_the_topic_is_refused",
    "test_records_of_a_mebibyte_are_read",
    "test_starts_at_a_time",
    "test_starts_at_an_offset",
    "test_starts_at_the_end",
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(EXTERNAL), reason="these tests configure a broker of their own"),
]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_dray(tmp_path_factory.mktemp("secured") / "dray", options=GROUPS) as running:
        yield running


@pytest.fixture(scope="module")
def programs(secured: SecuredBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    logs = tmp_path_factory.mktemp("secured-clients")
    running = Programs(secured.listeners["SASL_SSL"], logs, secured.login)
    yield running
    running.close()


@pytest.fixture
def feed(programs: Programs, topic: str) -> Feed:
    programs["librdkafka"].create_topic(topic, PARTITIONS)
    return Feed(topic, programs["librdkafka"])


@every_protocol
def test_group_hands_partitions_over(
    client: Client, protocol: GroupProtocol, secured: SecuredBroker, feed: Feed, tmp_path: Path
) -> None:
    """Two members share the partitions, then one has all of them; every record is processed once."""

    def start(name: str) -> ClientProcess:
        return secured.program(client.name, secured.login(client.name), tmp_path / name)

    with consumer_group(feed, start, protocol) as group:
        feed.grow(20)
        stays, leaves = group.join("stays"), group.join("leaves")
        group.settle(stays, leaves)
        leaves.leave()
        group.settle(stays)
        stays.leave()
    assert left_out(group.journal.entries, feed.log) == []
    assert again(group.journal.entries) == []
    assert moved_back(group.journal.entries) == []
    places = {(feed.topic, number): end for number, end in feed.ends.items()}
    assert committed(AdminClient(secured.admin), group.name) == places
