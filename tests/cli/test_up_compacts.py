"""`dray up` makes tables of topics by itself, beside its brokers, and takes Spark along when it ends."""

import json
import signal
from pathlib import Path

import pytest

from tests.cli import up_process
from tests.cli.calling import call
from tests.cli.up_process import running
from tests.oracle.cache import CACHE
from tests.pipeline.spark.processes import all_gone, below

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.real("java", "spark")]

SPARK_S = 240.0
"""How long Spark may take on a machine that has much else to do."""


def test_a_topic_becomes_a_table_while_it_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up_process, "WAIT_S", SPARK_S)
    data_dir = f"--data-dir={tmp_path}/data"
    soon = ["--set=compaction.wal_age_ms_max=1000", "--set=compaction.interval_ms=200"]
    arguments = ["up", "--listen=127.0.0.1:0", "--http=127.0.0.1:0", data_dir, *soon]
    with running(*arguments, cwd=tmp_path, env={"XDG_CACHE_HOME": str(CACHE)}) as command:
        [served] = command.served(1)
        assert call("topics", "create", "t", "--partitions=2", bootstrap=served.kafka).code == 0
        lines = b"".join(b"k%d\tv%d\n" % (number, number) for number in range(100))
        sent = call("produce", "t", "-q", r"--key-separator=\t", stdin=lines, bootstrap=served.kafka)
        assert sent.code == 0, sent.err
        told = command.logged("compacted")
        assert (told["topic"], told["process"]) == ("t", "compactor")
        [listed] = json.loads(call("tables", "list", "--json", data_dir).out)
        assert (listed["topic"], listed["rows"], listed["behind"]) == ("t", 100, 0)
        counted = call("sql", "SELECT count(DISTINCT key) AS n FROM t", "--json", data_dir)
        assert counted.lines == ['{"n":100}']
        shown = call("consume", "t", "--no-follow", bootstrap=served.kafka)
        assert sorted(shown.lines) == sorted(f"v{number}" for number in range(100))
        processes = below(command.process.pid)
        assert len(processes) > 2, "the compactor and its Java should be there"
        assert command.end(signal.SIGTERM) == 0
        assert all_gone(processes)
