"""`dray index show` while a broker uses the same metadata store."""

import json
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from dray.ids import StreamId
from dray.index import CorruptValue
from dray.keyspace import CLUSTER_DOMAIN
from dray.meta.memory import MemoryMetaServer, MemoryMetaStore
from dray.meta.port import Put
from dray.runtime import SystemClock, Tasks
from dray.server.index_query import read_index, stream_of
from dray.testing.entropy import SeededEntropy
from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.invoking import Result, invoke, invoke_ok, new_topic


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileCluster]:
    with file_cluster(tmp_path_factory.mktemp("index")) as running:
        yield running


def show(cluster: FileCluster, *arguments: str) -> Result:
    return invoke("index", "show", *arguments, *cluster.metadata_flags)


def filled(cluster: FileCluster, partitions: int = 1, rounds: int = 4) -> str:
    """Create a topic with `rounds` entries of three records in its last partition."""
    topic = new_topic(cluster.kafka, partitions=partitions)
    for _ in range(rounds):
        arguments = ["produce", topic, "-q", "--partition", str(partitions - 1)]
        invoke_ok(*arguments, stdin=b"a\nb\nc\n", kafka=cluster.kafka)
    return topic


def test_show_prints_head_and_entries(cluster: FileCluster) -> None:
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
    assert text[1] == "  log start 0, next offset 12"
    assert text[-1].split()[:4] == ["9", "12", "3", "1"]
    assert text[-1].endswith(shown["entries"][-1]["object"])


def test_stream_option_selects_by_id(cluster: FileCluster) -> None:
    topic = filled(cluster)
    by_name = show(cluster, topic, "0", "--json")
    stream = json.loads(by_name.out)["stream"]
    assert show(cluster, "--stream", stream, "--json").out == by_name.out
    assert show(cluster, "--stream", f"0x{stream}", "--json").out == by_name.out


def test_from_and_limit_select_entries(cluster: FileCluster) -> None:
    topic = filled(cluster)
    shown = json.loads(show(cluster, topic, "0", "--from", "4", "--limit", "2", "--json").out)
    assert [one["start_offset"] for one in shown["entries"]] == [3, 6]
    assert shown["more"]
    text = show(cluster, topic, "0", "--limit", "1").lines
    assert text[-1] == "  … more from offset 3: use --from or --limit"


def test_stream_without_records_has_no_entries(cluster: FileCluster) -> None:
    topic = filled(cluster, partitions=2)
    assert json.loads(show(cluster, topic, "0", "--json").out)["entries"] == []
    assert show(cluster, topic, "0").lines[1] == "  log start 0, next offset 0"


def test_show_does_not_disturb_a_running_broker(cluster: FileCluster) -> None:
    topic = filled(cluster, rounds=1)
    before = show(cluster, topic, "0", "--json").out
    assert show(cluster, topic, "0", "--json").out == before
    invoke_ok("produce", topic, "-q", stdin=b"more\n", kafka=cluster.kafka)
    assert len(json.loads(show(cluster, topic, "0", "--json").out)["entries"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing", "0"], "there is no topic 'missing'"),
        (["{topic}", "1"], "topic '{topic}' has no partition 1 (it has 0)"),
        (["--stream", "abc"], "there is no stream 0000000000000abc"),
    ],
)
def test_missing_object_is_reported_in_one_line(
    cluster: FileCluster, arguments: list[str], message: str
) -> None:
    topic = filled(cluster, rounds=1)
    result = show(cluster, *(one.format(topic=topic) for one in arguments))
    assert result.code == 1
    assert result.err == f"dray: {message.format(topic=topic)}\n"


@pytest.mark.parametrize(
    "arguments", [[], ["topic"], ["topic", "0", "--stream", "1"], ["topic", "--stream", "1"]]
)
def test_invalid_usage_exits_with_2(arguments: list[str]) -> None:
    result = invoke("index", "show", *arguments)
    assert result.code == 2
    assert result.err == "dray: give either TOPIC and PARTITION or --stream ID\n"


def test_stream_id_must_be_hexadecimal() -> None:
    assert "hexadecimal" in invoke("index", "show", "--stream", "xyz").err


def test_show_creates_no_store(tmp_path: Path) -> None:
    result = invoke("index", "show", "t", "0", f"--data-dir={tmp_path}/none")
    assert result.code == 1
    remedy = "name the cluster's store with --metadata or --data-dir"
    assert result.err == f"dray: there is nothing at {tmp_path}/none/metadata.sqlite; {remedy}\n"
    assert list(tmp_path.iterdir()) == []


def test_memory_store_cannot_be_inspected() -> None:
    result = invoke("index", "show", "t", "0", "--metadata=memory:")
    assert result.code == 1
    remedy = "name the cluster's store with --metadata or --data-dir"
    assert result.err == f"dray: memory: is in another process's memory; {remedy}\n"


async def test_corrupt_metadata_value_is_named() -> None:
    clock, tasks = SystemClock(), Tasks()
    meta = MemoryMetaStore(MemoryMetaServer(clock), clock, SeededEntropy(1), tasks=tasks)
    reads: dict[str, Callable[[], Awaitable[object]]] = {
        "/dray/v1/topics/t": partial(stream_of, meta, "t", 0),
        "/dray/v1/cluster": partial(read_index, meta, StreamId(1), 0, 1),
    }
    for key, read in reads.items():
        await meta.commit(CLUSTER_DOMAIN, [], [Put(key, b"junk")])
        with pytest.raises(CorruptValue, match=f"{key} (is not a |.*was not written by Dray)"):
            await read()
    await meta.close()
    await tasks.stop()


def test_store_without_a_cluster_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "empty.sqlite"
    file.touch()
    result = invoke("index", "show", "--stream", "1", f"--metadata=sqlite:{file}")
    assert result.code == 1
    assert result.err == "dray: there is no cluster in the metadata store\n"
