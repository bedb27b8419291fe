"""`dray index show`, beside a running broker on the same file."""

import json
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from dray.cli.index_pages import read_index, stream_of
from dray.cluster.keys import CLUSTER_DOMAIN
from dray.ids import StreamId
from dray.index import CorruptValue
from dray.meta.memory import DirectLink, MemoryMetaServer, MemoryMetaStore
from dray.meta.port import Put
from dray.runtime import SeededEntropy, SystemClock, Tasks
from tests.cli.calling import Called, call, good, new_topic
from tests.cli.clusters import FileCluster, file_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileCluster]:
    with file_cluster(tmp_path_factory.mktemp("index")) as running:
        yield running


def show(cluster: FileCluster, *arguments: str) -> Called:
    return call("index", "show", *arguments, *cluster.flags)


def filled(cluster: FileCluster, partitions: int = 1, rounds: int = 4) -> str:
    """Make a topic with `rounds` entries of three records in its last partition."""
    topic = new_topic(cluster.kafka, partitions=partitions)
    for _ in range(rounds):
        arguments = ["produce", topic, "-q", "--partition", str(partitions - 1)]
        good(*arguments, stdin=b"a\nb\nc\n", kafka=cluster.kafka)
    return topic


def test_head_and_entries(cluster: FileCluster) -> None:
    topic = filled(cluster, partitions=5)
    shown = json.loads(show(cluster, topic, "4", "--json").out)
    assert shown["head"]["high_watermark"] == 12
    assert shown["head"]["log_start"] == 0
    assert [(one["start_offset"], one["end_offset"]) for one in shown["entries"]] == [
        (0, 3),
        (3, 6),
        (6, 9),
        (9, 12),
    ]
    assert [len(one["batches"]) for one in shown["entries"]] == [1, 1, 1, 1]
    assert not shown["more"]
    for entry in shown["entries"]:
        assert (cluster.data_dir / "objects" / entry["object"]).is_file()
    text = show(cluster, topic, "4").lines
    assert text[0] == f"stream {shown['stream']} in domain {shown['domain']}"
    assert text[1] == "  begins at 0, next offset 12"
    assert text[-1].split()[:4] == ["9", "12", "3", "1"]
    assert text[-1].endswith(shown["entries"][-1]["object"])


def test_a_stream_is_found_by_its_id(cluster: FileCluster) -> None:
    topic = filled(cluster)
    by_name = show(cluster, topic, "0", "--json")
    stream = json.loads(by_name.out)["stream"]
    assert show(cluster, "--stream", stream, "--json").out == by_name.out
    assert show(cluster, "--stream", f"0x{stream}", "--json").out == by_name.out


def test_from_and_limit(cluster: FileCluster) -> None:
    topic = filled(cluster)
    shown = json.loads(show(cluster, topic, "0", "--from", "4", "--limit", "2", "--json").out)
    assert [one["start_offset"] for one in shown["entries"]] == [3, 6]
    assert shown["more"]
    text = show(cluster, topic, "0", "--limit", "1").lines
    assert text[-1] == "  … more behind offset 2: --from, --limit"


def test_a_stream_without_records(cluster: FileCluster) -> None:
    topic = filled(cluster, partitions=2)
    assert json.loads(show(cluster, topic, "0", "--json").out)["entries"] == []
    assert show(cluster, topic, "0").lines[1] == "  begins at 0, next offset 0"


def test_looking_disturbs_nothing(cluster: FileCluster) -> None:
    topic = filled(cluster, rounds=1)
    before = show(cluster, topic, "0", "--json").out
    assert show(cluster, topic, "0", "--json").out == before
    good("produce", topic, "-q", stdin=b"more\n", kafka=cluster.kafka)
    assert len(json.loads(show(cluster, topic, "0", "--json").out)["entries"]) == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing", "0"], "there is no topic 'missing'"),
        (["{topic}", "1"], "there is no partition 1; topic '{topic}' has 1, counted from 0"),
        (["--stream", "abc"], "there is no stream 0000000000000abc"),
    ],
)
def test_what_is_not_there(cluster: FileCluster, arguments: list[str], told: str) -> None:
    topic = filled(cluster, rounds=1)
    called = show(cluster, *(one.format(topic=topic) for one in arguments))
    assert called.code == 1
    assert called.err == f"dray: {told.format(topic=topic)}\n"


@pytest.mark.parametrize(
    "arguments", [[], ["topic"], ["topic", "0", "--stream", "1"], ["topic", "--stream", "1"]]
)
def test_a_wrong_call_exits_with_2(arguments: list[str]) -> None:
    called = call("index", "show", *arguments)
    assert called.code == 2
    assert called.err == "dray: give either TOPIC and PARTITION or --stream ID\n"


def test_a_stream_that_is_no_number() -> None:
    assert "hexadecimal" in call("index", "show", "--stream", "xyz").err


def test_a_look_makes_no_store(tmp_path: Path) -> None:
    called = call("index", "show", "t", "0", f"--data-dir={tmp_path}/none")
    assert called.code == 1
    told = f"there is nothing at {tmp_path}/none/metadata.sqlite: give the cluster's --metadata or --data-dir"
    assert called.err == f"dray: {told}\n"
    assert list(tmp_path.iterdir()) == []


def test_memory_cannot_be_looked_into() -> None:
    called = call("index", "show", "t", "0", "--metadata=memory:")
    assert called.code == 1
    assert called.err == "dray: memory: is in another process's memory: give --metadata or --data-dir\n"


async def test_a_value_that_dray_did_not_write_is_named() -> None:
    clock, tasks = SystemClock(), Tasks()
    meta = MemoryMetaStore(MemoryMetaServer(clock), DirectLink(), clock, SeededEntropy(1), tasks=tasks)
    reads: dict[str, Callable[[], Awaitable[object]]] = {
        "/dray/v1/topics/t": partial(stream_of, meta, "t", 0),
        "/dray/v1/cluster": partial(read_index, meta, StreamId(1), 0, 1),
    }
    for key, read in reads.items():
        await meta.commit(CLUSTER_DOMAIN, [], [Put(key, b"junk")])
        with pytest.raises(CorruptValue, match=f"{key} does not hold a"):
            await read()
    await meta.close()
    await tasks.stop()


def test_a_store_without_a_cluster(tmp_path: Path) -> None:
    file = tmp_path / "empty.sqlite"
    file.touch()
    called = call("index", "show", "--stream", "1", f"--metadata=sqlite:{file}")
    assert called.code == 1
    assert called.err == "dray: the metadata store holds no cluster\n"
