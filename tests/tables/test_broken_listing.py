"""`dray tables` with an unreadable table, which is reported after the readable ones."""

import json
from pathlib import Path

from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.in_process_compaction import compact, settings_of
from tests.cli.invoking import invoke, invoke_ok


def _ask(cluster: FileCluster, *arguments: str) -> tuple[int, str, str]:
    result = invoke(*arguments, *cluster.flags, f"--catalog=sqlite:{cluster.data_dir}/tables.sqlite")
    return result.code, result.out.decode(), result.err


def _cut(folder: Path, pattern: str) -> str:
    file = max(folder.glob(pattern), key=lambda path: path.name)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    return file.name


def test_one_damaged_table_hides_no_other(tmp_path: Path) -> None:
    with file_cluster(tmp_path) as cluster:
        for topic in ("well", "cut", "list"):
            invoke_ok("topics", "create", topic, "--partitions=1", kafka=cluster.kafka)
            invoke_ok("produce", topic, "-q", stdin=b"a\nb\n", kafka=cluster.kafka)
            assert compact(settings_of(cluster), topic).records == 2
        cut, snapshot = (
            _cut(next(cluster.data_dir.rglob(f"iceberg/topic={topic}/metadata")), pattern)
            for topic, pattern in (("cut", "*.metadata.json"), ("list", "snap-*.avro"))
        )
        code, out, err = _ask(cluster, "tables", "list")
        assert code == 0, err
        [_, well, *wrong] = out.splitlines()
        assert well.split()[:3] == ["well", "dray.well", "2"]
        for line, topic, file in zip(wrong, ("cut", "list"), (cut, snapshot), strict=True):
            assert line.startswith(f"table dray.{topic} of topic {topic} cannot be read: ")
            assert file in line
        listed = json.loads(_ask(cluster, "tables", "list", "--json")[1])
        assert [(one["topic"], "error" in one) for one in listed] == [
            ("well", False),
            ("cut", True),
            ("list", True),
        ]
        assert _ask(cluster, "tables", "describe", "well")[0] == 0
        code, _, err = _ask(cluster, "tables", "describe", "cut")
        assert code != 0
        assert cut in err
