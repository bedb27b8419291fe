"""Compaction by `dray up`, which also stops Spark when it exits."""

import json
import signal
from pathlib import Path

import pytest

from tests.cli import up_process
from tests.cli.invoking import invoke
from tests.cli.up_process import running
from tests.oracle.cache import CACHE
from tests.spark.processes import all_exited, descendants

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.real("java", "spark")]

SPARK_S = 240.0
"""How long Spark may take on a busy machine."""


def test_up_compacts_a_topic_while_serving_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up_process, "WAIT_S", SPARK_S)
    data_dir = f"--data-dir={tmp_path}/data"
    soon = ["--set=compaction.wal_age_ms_max=1000", "--set=compaction.interval_ms=200"]
    arguments = ["up", "--listen=127.0.0.1:0", "--http=127.0.0.1:0", data_dir, *soon]
    with running(*arguments, cwd=tmp_path, env={"XDG_CACHE_HOME": str(CACHE)}) as command:
        [served] = command.served(1)
        assert invoke("topics", "create", "t", "--partitions=2", bootstrap=served.kafka).code == 0
        lines = b"".join(b"k%d\tv%d\n" % (number, number) for number in range(100))
        sent = invoke("produce", "t", "-q", r"--key-separator=\t", stdin=lines, bootstrap=served.kafka)
        assert sent.code == 0, sent.err
        logged = command.logged("topic_compacted")
        assert (logged["topic"], logged["process"]) == ("t", "compactor")
        [listed] = json.loads(invoke("tables", "list", "--json", data_dir).out)
        assert (listed["topic"], listed["rows"], listed["lag"]) == ("t", 100, 0)
        counted = invoke("sql", "SELECT count(DISTINCT key) AS n FROM t", "--json", data_dir)
        assert counted.lines == ['{"n":100}']
        shown = invoke("consume", "t", "--no-follow", bootstrap=served.kafka)
        assert sorted(shown.lines) == sorted(f"v{number}" for number in range(100))
        processes = descendants(command.process.pid)
        assert len(processes) > 2, "the compactor and its Java run"
        assert command.end(signal.SIGTERM) == 0
        assert all_exited(processes)
