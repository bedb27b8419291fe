"""The warehouse on a real S3 server, beside the log."""

import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store

from dray.runtime import RetrySettings, SystemClock, SystemEntropy
from dray.server.catalog import iceberg_settings
from dray.settings import load_settings
from dray.tables.iceberg import IcebergSettings, IcebergTables
from dray.tables.names import spare_folder, table_folder
from dray.tables.port import AccessDenied, Job, Retriable, TopicTable
from dray.testing import seaweedfs
from dray.testing.contracts.tables import ORDERS, TablesContract, TablesHarness, live
from dray.testing.seaweedfs import SECRET, SeaweedFS
from tests.tables.duck import reading_iceberg
from tests.tables.iceberg_harness import CloudHarness
from tests.tables.parquet import ParquetFiles

pytestmark = pytest.mark.real("seaweedfs")

_numbers = count()


@pytest.fixture(scope="module")
def seaweed_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("seaweedfs")


@pytest.fixture(scope="module")
def seaweed(seaweed_folder: Path) -> Iterator[SeaweedFS]:
    with seaweedfs.serve(seaweed_folder) as server:
        server.make_bucket("dray")
        yield server


def settings_at(
    endpoint: str, folder: Path, user: str = "admin", more: dict[str, str] | None = None
) -> IcebergSettings:
    """Return the settings of a catalog of its own, as the compactor derives them."""
    (folder / "secret").write_text(SECRET)
    pairs = {
        "tables.catalog": f"sqlite:{folder}/catalog.db",
        "storage.url": "s3://dray/cluster",
        "storage.endpoint": endpoint,
        "storage.allow_http": "true",
        "storage.region": "us-east-1",
        "storage.access_key_id": user,
        "storage.secret_access_key": f"file:{folder}/secret",
        **(more or {}),
    }
    settings = load_settings(None, {}, {}, [f"{key}={value}" for key, value in pairs.items()]).settings
    return iceberg_settings(settings.tables, settings.storage, "cluster-1")


@pytest.fixture
def settings(seaweed: SeaweedFS, tmp_path: Path) -> IcebergSettings:
    return settings_at(seaweed.endpoint, tmp_path)


class TestS3(TablesContract):
    @pytest.fixture
    async def harness(self, seaweed: SeaweedFS, tmp_path: Path) -> AsyncIterator[TablesHarness]:
        root = {"storage.url": f"s3://dray/contract-{next(_numbers)}"}
        harness = CloudHarness(settings_at(seaweed.endpoint, tmp_path, more=root), tmp_path / "files")
        yield harness
        await harness.close()


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


@pytest.mark.parametrize("encryption", [{}, {"storage.server_side_encryption": "AES256"}])
def test_metadata_files_are_encrypted_as_the_log_is(
    seaweed: SeaweedFS, seaweed_folder: Path, tmp_path: Path, encryption: dict[str, str]
) -> None:
    harness = CloudHarness(settings_at(seaweed.endpoint, tmp_path, more=encryption), tmp_path / "files")
    url, content = f"s3://dray/cluster/encrypted-{next(_numbers)}.json", os.urandom(10_000)
    with harness.io.new_output(url).create() as output:
        output.write(content)
    with harness.io.new_input(url).open() as file:
        assert file.read() == content
    on_disk = b"".join(path.read_bytes() for path in seaweed_folder.rglob("*.dat"))
    assert (content[:100] in on_disk) == (not encryption)


async def test_read_only_credentials_raise_access_denied(seaweed: SeaweedFS, tmp_path: Path) -> None:
    tables = IcebergTables(settings_at(seaweed.endpoint, tmp_path, "reader"), SystemClock(), SystemEntropy())
    with pytest.raises(AccessDenied, match="credentials"):
        await tables.create_if_missing(TopicTable("forbidden", "1"), table_folder("forbidden"))
    await tables.close()


async def test_unavailable_store_is_retried(tmp_path: Path) -> None:
    away = settings_at("http://127.0.0.1:9", tmp_path, more={"storage.attempt_timeout_ms": "100"})
    once = replace(away, attempts=RetrySettings(attempts=1))
    tables = IcebergTables(once, SystemClock(), SystemEntropy())
    with pytest.raises(Retriable):
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    await tables.close()
