"""`dray check`: finds nothing in a running cluster, reports damage by topic, and repairs on request."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.in_process_compaction import compact, settings_of
from tests.cli.invoking import Result, invoke, invoke_ok
from tests.cli.test_bare_install import python


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FileCluster]:
    """A broker with two topics, one of them compacted."""
    with file_cluster(tmp_path) as running:
        for topic in ("orders", "users"):
            invoke_ok("topics", "create", topic, kafka=running.kafka)
            invoke_ok("produce", topic, "-q", stdin=b"a\nb\n", kafka=running.kafka)
        compact(settings_of(running), "users")
        yield running


def check(cluster: FileCluster, *arguments: str, code: int = 0) -> Result:
    catalog = f"--catalog=sqlite:{cluster.data_dir}/tables.sqlite"
    result = invoke("check", *arguments, *cluster.flags, catalog)
    assert result.code == code, result.err
    return result


def _lose(cluster: FileCluster) -> Path:
    """Delete the object of `orders`; that of `users` is no longer in the index."""
    names = json.loads(invoke("index", "show", "orders", "0", "--json", *cluster.metadata_flags).out)
    path = cluster.data_dir / "objects" / str(names["entries"][0]["object"])
    path.unlink()
    return path


def test_running_cluster_is_clean(cluster: FileCluster) -> None:
    # The WAL object of `users` waits for its deletion.
    assert check(cluster).lines == [
        "checked 2 partitions, 2 index entries, 3 objects and 1 table: nothing is wrong"
    ]
    assert check(cluster, "--deep").code == 0
    assert check(cluster, "users", "--repair").lines == [
        "checked 1 partition, 1 index entry, 0 objects and 1 table: nothing is wrong"
    ]


def test_report_names_topic_offsets_and_what_to_do(cluster: FileCluster) -> None:
    lost = _lose(cluster).relative_to(cluster.data_dir / "objects")
    accept = "accept the loss: `kafka-delete-records.sh` up to offset 2"
    lines = check(cluster, code=1).lines
    assert lines == [
        "topic orders",
        f"  lost  partition 0, offsets 0 to 1: the WAL object {lost} does not exist",
        f"        to do: restore {lost}, for example from a version of the bucket, or {accept}",
        "",
        "topic   lost  wrong  leak  note  repaired",
        "orders     1      0     0     0         0",
        "",
        "checked 2 partitions, 2 index entries, 2 objects and 1 table: 1 finding",
    ]
    assert check(cluster, "users").code == 0
    assert check(cluster, "--repair", code=1).lines == lines


def test_json_has_a_line_for_each_finding_and_one_of_counts(cluster: FileCluster) -> None:
    lost = _lose(cluster).relative_to(cluster.data_dir / "objects")
    found, counts = map(json.loads, check(cluster, "--json", code=1).lines)
    assert (found["severity"], found["finding"]) == ("lost", "missing_object")
    assert (found["topic"], found["partition"]) == ("orders", 0)
    assert (found["first_offset"], found["last_offset"], found["object"]) == (0, 1, str(lost))
    assert (found["repairable"], found["repaired"]) == (False, None)
    assert counts["findings"] == {"lost": 1, "wrong": 0, "leak": 0, "note": 0}
    assert counts["checked"]["entries"] == 2


def test_stray_is_only_a_leak_and_deleted_on_request(cluster: FileCluster) -> None:
    [kept, *_] = cluster.objects
    stray = kept.with_name(f"{'ab' * 16}.wo")
    stray.write_bytes(b"left behind")
    os.utime(stray, (1_700_000_000, 1_700_000_000))
    lines = check(cluster).lines
    assert lines[0] == "(no topic)"
    assert lines[1].startswith("  leak  no key names the WAL object wal/v1/")
    assert stray.exists()
    repaired = check(cluster, "--repair").lines
    assert repaired[0].startswith("(no topic): no key names the WAL object wal/v1/")
    assert repaired[0].endswith(f"{stray.name} (11 bytes): repaired: deleted it")
    assert repaired[1:3] == ["", "(no topic)"]
    assert repaired[4] == "        repaired: deleted it"
    assert not stray.exists()
    assert check(cluster).lines[-1].endswith("nothing is wrong")


def test_failed_check_prints_what_it_has_found(cluster: FileCluster) -> None:
    lost = _lose(cluster).relative_to(cluster.data_dir / "objects")
    result = invoke(
        "check", *cluster.flags, "--catalog=http://127.0.0.1:9/", "--set=tables.request_timeout_ms=500"
    )
    assert result.code == 1
    assert f"the WAL object {lost} does not exist" in result.out.decode()
    assert result.err.startswith("dray: ")
    assert invoke("check", "--data-dir", str(cluster.data_dir / "none")).lines == []


def test_unknown_topic_is_rejected(cluster: FileCluster) -> None:
    result = check(cluster, "order", code=1)
    assert result.err == "dray: there is no topic 'order'; did you mean orders?\n"
    assert check(cluster, "--frist", code=2).lines == []


def test_tables_are_left_out_without_their_libraries(cluster: FileCluster) -> None:
    run = (
        "import importlib.util as util; find = util.find_spec; "
        "util.find_spec = lambda name: None if name in EXTRAS else find(name); "
        "from dray.cli.main import main; sys.argv[0] = 'dray'; main()"
    )
    catalog = f"--catalog=sqlite:{cluster.data_dir}/tables.sqlite"
    done = python(run, "check", *cluster.flags, catalog)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("dray: tables are not checked: missing packages: ")
    assert done.stdout.endswith("and 0 tables: nothing is wrong\n")


def test_progress_is_shown_on_a_terminal_and_removed(cluster: FileCluster) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dray", "check", *cluster.flags]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=False, timeout=120)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert shown.startswith("\r\x1b[Ktopics: 0 objects, 0 partitions")
    assert shown.endswith("\r\x1b[K")
