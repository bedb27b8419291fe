"""The commands with two brokers on the same stores: each partition through its leader."""

import json
from collections.abc import Iterator

import pytest

from dray.testing import broker
from dray.testing.broker import EmbeddedBroker
from tests.cli.invoking import invoke, invoke_ok, new_topic
from tests.cli.members import committed, member


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[EmbeddedBroker]]:
    data_dir = tmp_path_factory.mktemp("two")
    stores = {"metadata.url": f"sqlite:{data_dir}/m.sqlite", "storage.url": f"file:{data_dir}/objects"}
    with broker({**stores, "broker.id": "1"}) as first, broker({**stores, "broker.id": "2"}) as second:
        yield [first, second]


def test_produce_and_consume_through_both_leaders(brokers: list[EmbeddedBroker]) -> None:
    first, second = brokers
    topic = new_topic(first, partitions=12)
    stdin = b"".join(b"k%d=%d\n" % (number % 40, number) for number in range(400))
    invoke_ok("produce", topic, "--key-separator==", "--batch-bytes=400", "-q", stdin=stdin, kafka=second)
    (described,) = json.loads(invoke_ok("topics", "describe", topic, "--json", kafka=second).out)
    assert {one["leader"] for one in described["partitions"]} == {1, 2}
    assert sum(one["end"] for one in described["partitions"]) == 400
    for kafka in brokers:
        shown = invoke_ok("consume", topic, "--no-follow", "--keys", kafka=kafka)
        rows = [line.split("\t") for line in shown.lines]
        for key in {key for key, _ in rows}:
            numbers = [int(value) for one, value in rows if one == key]
            assert numbers == sorted(numbers)
        assert sorted(int(value) for _, value in rows) == list(range(400))


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_are_the_same_through_both_brokers(brokers: list[EmbeddedBroker], protocol: str) -> None:
    topic, group = new_topic(brokers[0], partitions=4), f"both-{protocol}"
    invoke_ok("produce", topic, "--partition=3", stdin=b"a\nb\n", kafka=brokers[0])
    with member(brokers[0], group, topic, 2, group_protocol=protocol):
        shown = [invoke_ok("groups", "describe", group, "--json", kafka=kafka).out for kafka in brokers]
        assert shown[0] == shown[1]
        (found,) = json.loads(shown[0])
        assert found["coordinator"] in (1, 2)
        assert [one["partitions"] for one in found["members"]] == [{topic: [0, 1, 2, 3]}]
        assert [one["lag"] for one in found["partitions"]] == [None, None, None, 0]
    for kafka, where, offset in ((brokers[1], "--to-earliest", 0), (brokers[0], "--to-latest", 2)):
        invoke_ok("groups", "reset-offsets", group, where, "--execute", kafka=kafka)
        assert [committed(each, group, topic, 4)[3] for each in brokers] == [offset, offset]
    names = [one["group"] for one in json.loads(invoke_ok("groups", "list", "--json", kafka=brokers[1]).out)]
    assert names.count(group) == 1
    invoke_ok("groups", "delete", group, "--yes", kafka=brokers[1])
    assert invoke("groups", "describe", group, bootstrap=brokers[0].bootstrap).code == 1
