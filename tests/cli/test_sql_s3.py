"""`dray sql` and the lines of `dray tables describe` with a real S3 server.

`dray sql` needs no DuckDB extensions and only the cluster's credentials.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.testing import broker, seaweedfs
from dray.testing.seaweedfs import SECRET, SeaweedFS
from tests.cli.clusters import FileCluster
from tests.cli.in_process_compaction import compact, settings_of
from tests.cli.invoking import invoke, invoke_ok, pasted
from tests.tables.duck import reading_iceberg

pytestmark = pytest.mark.real("seaweedfs")


@pytest.fixture
def seaweed(tmp_path: Path) -> Iterator[SeaweedFS]:
    with seaweedfs.serve(tmp_path) as server:
        server.make_bucket("dray")
        yield server


def test_rows_from_wal_and_parquet_on_s3(
    seaweed: SeaweedFS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    stores = {
        "metadata.url": f"sqlite:{tmp_path}/metadata.sqlite",
        "storage.url": "s3://dray/cluster",
        "storage.endpoint": seaweed.endpoint,
        "storage.allow_http": "true",
        "storage.region": "us-east-1",
        "storage.access_key_id": "admin",
        "storage.secret_access_key": f"file:{secret}",
    }
    with broker(stores) as kafka:
        invoke_ok("topics", "create", "t", "--partitions=2", kafka=kafka)
        for first in (0, 100):
            lines = b"".join(b"k%d\tv%d\n" % (number, number) for number in range(first, first + 100))
            invoke_ok("produce", "t", "-q", r"--key-separator=\t", stdin=lines, kafka=kafka)
            if not first:
                report = compact(settings_of(FileCluster(kafka, tmp_path), stores), "t")
                assert (report.records, report.failures) == (100, [])
    catalog = f"--catalog=sqlite:{tmp_path}/tables.sqlite"
    flags = [f"--set={key}={value}" for key, value in stores.items()]
    query = "SELECT count(*) AS n, count(DISTINCT key) AS k FROM t WHERE utf8(value) <> 'v7'"
    result = invoke("sql", query, "--json", *flags)
    assert result.code == 0, result.err
    assert result.lines == ['{"n":199,"k":199}']
    described = invoke("tables", "describe", "t", "--json", *flags, catalog)
    assert described.code == 0, described.err
    engines = json.loads(described.out)["engines"]
    assert SECRET not in described.out.decode()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "reader")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with reading_iceberg() as duck:
        assert len(duck.execute(engines["duckdb"]).fetchall()) == 100
    table = pasted(engines["pyiceberg"])
    assert table.scan().to_arrow().num_rows == 100
    table.catalog.close()
