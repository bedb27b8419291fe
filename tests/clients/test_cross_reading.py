"""Cross reading: every client library reads what every other wrote, batches of all codecs in one topic."""

from collections.abc import Callable

import pytest

from tests.clients.conftest import Programs
from tests.clients.protocol import Record
from tests.clients.records import varied
from tests.clients.registry import CLIENTS, CODECS, Client
from tests.clients.target import needs
from tests.clients.topics import PARTITIONS, assert_shows, log_of, new_name, places

pytestmark = pytest.mark.slow

COUNT = 100
Filled = Callable[[Client], tuple[str, list[Record]]]

every_pair = pytest.mark.parametrize(
    ("writer", "reader"),
    [
        pytest.param(
            writer, reader, id=f"{writer.name} to {reader.name}", marks=needs(writer.part, reader.part)
        )
        for writer in CLIENTS.values()
        for reader in CLIENTS.values()
        if writer is not reader
    ],
)


@pytest.fixture(scope="session")
def filled(programs: Programs) -> Filled:
    """Return a topic that a client has filled, and its records; filled on first use."""
    topics: dict[str, tuple[str, list[Record]]] = {}

    def ask(client: Client) -> tuple[str, list[Record]]:
        if client.name not in topics:
            topics[client.name] = fill(client, programs)
        return topics[client.name]

    return ask


def fill(client: Client, programs: Programs) -> tuple[str, list[Record]]:
    program, topic = programs[client.name], new_name()
    program.create_topic(topic, len(PARTITIONS))
    log = log_of(client, varied(COUNT, PARTITIONS) * len(CODECS))
    for number, codec in enumerate(CODECS):
        part = log[number * COUNT : (number + 1) * COUNT]
        assert program.produce(topic, part, codec) == places(part)
    return topic, log


@every_pair
def test_reads_what_another_wrote(writer: Client, reader: Client, programs: Programs, filled: Filled) -> None:
    topic, log = filled(writer)
    assert_shows(reader, programs[reader.name].consume(topic, len(log), PARTITIONS), log)
