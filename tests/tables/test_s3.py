"""The warehouse on a real S3 server, beside the log."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store

from dray.runtime import RetrySettings, SystemClock, SystemEntropy
from dray.tables.iceberg import IcebergSettings, IcebergTables, S3Access, SqlCatalogSettings
from dray.tables.names import spare_folder, table_folder
from dray.tables.port import AccessDenied, Job, Retriable, TopicTable
from dray.testing import seaweedfs
from dray.testing.contracts.tables import ORDERS, live
from dray.testing.seaweedfs import SECRET, SeaweedFS
from tests.tables.duck import reading_iceberg
from tests.tables.parquet import ParquetFiles

pytestmark = pytest.mark.real("seaweedfs")


@pytest.fixture(scope="module")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with seaweedfs.serve(tmp_path_factory.mktemp("seaweedfs")) as server:
        server.make_bucket("dray")
        yield server


@pytest.fixture
def settings(seaweed: SeaweedFS, tmp_path: Path) -> IcebergSettings:
    return IcebergSettings(
        catalog=SqlCatalogSettings(path=str(tmp_path / "catalog.db")),
        root="s3://dray/cluster",
        cluster_id="cluster-1",
        s3=S3Access(endpoint=seaweed.endpoint, access_key="admin", secret_key=SECRET),
    )


@pytest.fixture
async def tables(settings: IcebergSettings) -> AsyncIterator[IcebergTables]:
    opened = IcebergTables(settings, SystemClock(), SystemEntropy())
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    "folder", [table_folder(ORDERS.topic), spare_folder(ORDERS.topic, "0123456789abcdef")]
)
async def test_table_on_s3_is_written_maintained_and_read_by_others(
    tables: IcebergTables, seaweed: SeaweedFS, tmp_path: Path, folder: str
) -> None:
    files = ParquetFiles(tmp_path)
    old, new, other = files.file(0, 0, 10), files.file(0, 0, 10), files.file(1, 0, 5)
    store = S3Store(
        "dray",
        prefix="cluster",
        endpoint=seaweed.endpoint,
        region="us-east-1",
        access_key_id="admin",
        secret_access_key=SECRET,
        client_options={"allow_http": True},
    )
    for file in (old, new, other):
        obstore.put(store, file.path, (tmp_path / file.path).read_bytes())
    await tables.create_if_missing(ORDERS, folder)
    await tables.append(ORDERS, [old, other], Job("a"))
    await tables.replace(ORDERS, [old.path], [new], Job("b"))
    assert (await tables.current(ORDERS)).files == (live(new), live(other))
    expired = await tables.expire(ORDERS, 4_102_444_800_000)
    for path in (old.path, *expired.metadata_files):
        obstore.delete(store, path)
    reachable = await tables.reachable(ORDERS)
    stored = {str(entry["path"]) for page in obstore.list(store) for entry in page}
    assert {path for path in stored if path.startswith((f"{folder}/", "compaction/"))} == reachable
    [metadata] = [path for path in sorted(reachable) if path.endswith(".metadata.json")][-1:]
    with reading_iceberg() as duck:
        duck.execute(
            "CREATE SECRET (TYPE s3, KEY_ID 'admin', SECRET ?, ENDPOINT ?, URL_STYLE 'path', USE_SSL false)",
            [SECRET, seaweed.endpoint.removeprefix("http://")],
        )
        for place in (metadata, folder):
            counted = duck.execute(
                "SELECT partition, count(*) FROM iceberg_scan(?) GROUP BY 1 ORDER BY 1",
                [f"s3://dray/cluster/{place}"],
            ).fetchall()
            assert counted == [(0, 10), (1, 5)]


async def test_read_only_credentials_raise_access_denied(settings: IcebergSettings) -> None:
    assert settings.s3 is not None
    reader = replace(settings.s3, access_key="reader")
    tables = IcebergTables(replace(settings, s3=reader), SystemClock(), SystemEntropy())
    with pytest.raises(AccessDenied, match="credentials"):
        await tables.create_if_missing(TopicTable("forbidden", "1"), table_folder("forbidden"))
    await tables.close()


async def test_unavailable_store_is_retried(settings: IcebergSettings) -> None:
    assert settings.s3 is not None
    away = replace(settings.s3, endpoint="http://127.0.0.1:9", connect_s=1.0, request_s=1.0)
    once = replace(settings, s3=away, attempts=RetrySettings(attempts=1))
    tables = IcebergTables(once, SystemClock(), SystemEntropy())
    with pytest.raises(Retriable):
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    await tables.close()
