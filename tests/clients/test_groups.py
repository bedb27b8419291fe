"""Three consumers of one group over twelve partitions: they join, one leaves, one is killed.

In all cases every record is processed, no committed record is processed again, and in the end everything is
committed. Each library is used as its documentation recommends: processed records are committed before a
partition is revoked.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.commits import positions
from tests.clients.conftest import Programs
from tests.clients.groups import PARTITIONS, Feed, consumer_group
from tests.clients.process import ClientProcess
from tests.clients.protocol import GroupProtocol
from tests.clients.registry import CLIENTS, Client
from tests.clients.rules import again, left_out, moved_back
from tests.clients.target import needs

every_protocol = pytest.mark.parametrize(
    ("client", "protocol"),
    [
        pytest.param(client, protocol, id=f"{name} {protocol}", marks=needs(client.part))
        for name, client in CLIENTS.items()
        for protocol in client.protocols
    ],
)


@pytest.fixture
def feed(programs: Programs, topic: str) -> Feed:
    programs["librdkafka"].create_topic(topic, PARTITIONS)
    return Feed(topic, programs["librdkafka"])


@pytest.mark.slow
@every_protocol
def test_group_processes_every_record_once(
    client: Client, protocol: GroupProtocol, bootstrap: str, feed: Feed, tmp_path: Path
) -> None:
    with consumer_group(feed, starting(client, bootstrap, tmp_path), protocol) as group:
        feed.grow(100)
        stays, leaves, dies = (group.join(name) for name in ("stays", "leaves", "dies"))
        group.settle(stays, leaves, dies)
        feed.grow(50)
        leaves.leave()
        group.settle(stays, dies)
        group.await_reading(dies, feed.grow(100))
        dies.kill()
        feed.grow(10)
        group.settle(stays)
        stays.leave()
    assert left_out(group.journal.entries, feed.log) == []
    assert again(group.journal.entries) == []
    assert moved_back(group.journal.entries) == []
    assert positions(bootstrap, group.name) == feed.ends


def starting(client: Client, bootstrap: str, logs: Path) -> Callable[[str], ClientProcess]:
    return lambda name: ClientProcess(client.command(bootstrap), logs / f"{name}.log")
