"""The commands against two brokers on the same stores: every partition through its own leader."""

import json
from collections.abc import Iterator

import pytest

from dray.testing import broker
from dray.testing.broker import EmbeddedBroker
from tests.cli.calling import good, new_topic


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[EmbeddedBroker]]:
    data_dir = tmp_path_factory.mktemp("two")
    stores = {"metadata.url": f"sqlite:{data_dir}/m.sqlite", "storage.url": f"file:{data_dir}/objects"}
    with broker({**stores, "broker.id": "1"}) as first, broker({**stores, "broker.id": "2"}) as second:
        yield [first, second]


def test_records_go_through_both_leaders(brokers: list[EmbeddedBroker]) -> None:
    first, second = brokers
    topic = new_topic(first, partitions=12)
    stdin = b"".join(b"k%d=%d\n" % (number % 40, number) for number in range(400))
    good("produce", topic, "--key-separator==", "--batch-bytes=400", "-q", stdin=stdin, kafka=second)
    (described,) = json.loads(good("topics", "describe", topic, "--json", kafka=second).out)
    assert {one["leader"] for one in described["partitions"]} == {1, 2}
    assert sum(one["end"] for one in described["partitions"]) == 400
    for kafka in brokers:
        shown = good("consume", topic, "--no-follow", "--keys", kafka=kafka)
        rows = [line.split("\t") for line in shown.lines]
        for key in {key for key, _ in rows}:
            numbers = [int(value) for one, value in rows if one == key]
            assert numbers == sorted(numbers)
        assert sorted(int(value) for _, value in rows) == list(range(400))
