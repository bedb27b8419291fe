"""`dray sql` over a real S3 server: no extension, no other credentials than the cluster's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.testing import broker, seaweedfs
from dray.testing.seaweedfs import SECRET, SeaweedFS
from tests.cli.calling import call, good
from tests.cli.clusters import FileCluster
from tests.cli.compaction_here import compact, settings_of

pytestmark = pytest.mark.real("seaweedfs")


@pytest.fixture
def seaweed(tmp_path: Path) -> Iterator[SeaweedFS]:
    with seaweedfs.serve(tmp_path) as server:
        server.make_bucket("dray")
        yield server


def test_hot_and_cold_rows(seaweed: SeaweedFS, tmp_path: Path) -> None:
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
        good("topics", "create", "t", "--partitions=2", kafka=kafka)
        for first in (0, 100):
            lines = b"".join(b"k%d\tv%d\n" % (number, number) for number in range(first, first + 100))
            good("produce", "t", "-q", r"--key-separator=\t", stdin=lines, kafka=kafka)
            if not first:
                report = compact(settings_of(FileCluster(kafka, tmp_path), stores), "t")
                assert (report.records, report.failures) == (100, [])
    flags = [f"--set={key}={value}" for key, value in stores.items()]
    query = "SELECT count(*) AS n, count(DISTINCT key) AS k FROM t WHERE utf8(value) <> 'v7'"
    called = call("sql", query, "--json", *flags)
    assert called.code == 0, called.err
    assert called.lines == ['{"n":199,"k":199}']
