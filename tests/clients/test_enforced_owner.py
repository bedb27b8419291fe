"""Every client follows the leaders that Metadata names, also when they change (`routing.enforce_owner`).

With three brokers that serve only what they lead, a client that asked any broker would get no further than
NOT_LEADER_OR_FOLLOWER. In between a leader is restarted: its partitions move to the others and back, while
the client still has the old leader in its memory. It knows one address, of a broker that stays.
"""

from collections.abc import Iterator, Sequence

import pytest
from confluent_kafka.admin import AdminClient

from tests.brokers import BrokerProcess, running_brokers
from tests.clients.conftest import Programs
from tests.clients.records import varied
from tests.clients.registry import Client
from tests.clients.target import EXTERNAL, every_client
from tests.clients.topics import PARTITIONS, assert_shows, log_of, places

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(EXTERNAL), reason="these tests configure brokers of their own"),
]

COUNT = 100
BROKERS = 3
FIRST = 1


@pytest.fixture(scope="module")
def strict_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[BrokerProcess]]:
    options = ("--set", "routing.enforce_owner=true")
    with running_brokers(BROKERS, tmp_path_factory.mktemp("strict"), options) as brokers:
        yield brokers


@pytest.fixture(scope="module")
def strict_programs(
    strict_brokers: Sequence[BrokerProcess], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Programs]:
    programs = Programs(strict_brokers[0].address, tmp_path_factory.mktemp("strict-logs"))
    yield programs
    programs.close()


def _leader_besides_the_first(bootstrap: str, topic: str) -> int:
    """Return the id of a broker that leads a partition, but not the one whose address the clients know."""
    described = AdminClient({"bootstrap.servers": bootstrap}).list_topics(topic, timeout=30)
    leaders = {one.leader for one in described.topics[topic].partitions.values()}
    return max(leaders - {FIRST}, default=FIRST + 1)


@every_client
def test_records_reach_the_leader_before_and_after_it_moves(
    client: Client, strict_brokers: Sequence[BrokerProcess], strict_programs: Programs, topic: str
) -> None:
    program, log = strict_programs[client.name], log_of(client, varied(COUNT, PARTITIONS) * 2)
    program.create_topic(topic, len(PARTITIONS))
    placed = program.produce(topic, log[:COUNT])
    leader = strict_brokers[_leader_besides_the_first(strict_brokers[0].address, topic) - 1]
    leader.stop()
    placed += program.produce(topic, log[COUNT : COUNT + COUNT // 2])
    leader.start()
    placed += program.produce(topic, log[len(placed) :])
    assert placed == places(log)
    assert_shows(client, program.consume(topic, len(log), PARTITIONS), log)
