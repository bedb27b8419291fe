"""Tables in Google Cloud Storage and Azure: the contract over emulators, files, and refusals."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from dray.runtime import RetrySettings, SystemClock, SystemEntropy
from dray.server.catalog import iceberg_settings
from dray.settings import load_settings
from dray.tables.iceberg import IcebergSettings, IcebergTables
from dray.tables.names import table_folder
from dray.tables.port import AccessDenied, Retriable
from dray.testing.contracts.tables import ORDERS, TablesContract, TablesHarness
from tests.objects.emulators import AzureServer, GcsServer, serve_azure, serve_gcs
from tests.tables.iceberg_harness import CloudHarness

pytestmark = pytest.mark.slow

_numbers: Final = count()


@pytest.fixture(scope="module")
def gcs() -> Iterator[GcsServer]:
    with serve_gcs() as server:
        yield server


@pytest.fixture(scope="module")
def azure() -> Iterator[AzureServer]:
    with serve_azure() as server:
        yield server


def iceberg_at(
    server: GcsServer | AzureServer, folder: Path, more: dict[str, str] | None = None
) -> IcebergSettings:
    """Return the settings of a catalog of its own, as the compactor derives them."""
    pairs = {
        "tables.catalog": f"sqlite:{folder}/tables.sqlite",
        **server.pairs(f"cluster/{next(_numbers)}", folder),
        **(more or {}),
    }
    given = tuple(f"{key}={value}" for key, value in pairs.items())
    settings = load_settings(None, {}, {}, given).settings
    return iceberg_settings(settings.tables, settings.storage, "cluster-1")


@pytest.mark.real("gcs")
class TestGcs(TablesContract):
    @pytest.fixture
    async def harness(self, gcs: GcsServer, tmp_path: Path) -> AsyncIterator[TablesHarness]:
        harness = CloudHarness(iceberg_at(gcs, tmp_path), tmp_path / "files")
        yield harness
        await harness.close()


@pytest.mark.real("azure")
class TestAzure(TablesContract):
    @pytest.fixture
    async def harness(self, azure: AzureServer, tmp_path: Path) -> AsyncIterator[TablesHarness]:
        harness = CloudHarness(iceberg_at(azure, tmp_path), tmp_path / "files")
        yield harness
        await harness.close()


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.real(name)) for name in ("gcs", "azure")])
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> CloudHarness:
    return CloudHarness(iceberg_at(request.getfixturevalue(request.param), tmp_path), tmp_path / "files")


def test_files_are_created_once_and_deleted_twice(harness: CloudHarness) -> None:
    url = f"{harness.settings.root}/a/metadata/1.json"
    made, io = harness.io.new_output(url), harness.io
    assert not made.exists()
    with made.create() as output:
        output.write(b"one")
    with pytest.raises(FileExistsError, match=r"write of .*/a/metadata/1\.json"), made.create() as output:
        output.write(b"two")
    with made.create(overwrite=True) as output:
        output.write(b"three")
    assert (len(io.new_input(url)), made.exists()) == (5, True)
    with io.new_input(url).open() as content:
        assert content.read() == b"three"
    io.delete(url)
    io.delete(made)
    with pytest.raises(FileNotFoundError, match=r"read of .*/a/metadata/1\.json"):
        made.to_input_file().open()


def test_abandoned_file_is_not_written(harness: CloudHarness) -> None:
    made = harness.io.new_output(f"{harness.settings.root}/a/metadata/1.json")
    with pytest.raises(TypeError), made.create() as output:
        output.write("not bytes")  # type: ignore[arg-type]  # on purpose
    assert not made.exists()


def test_files_on_a_disk_are_reached_too(harness: CloudHarness, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/other/1.json"
    with harness.io.new_output(url).create() as output:
        output.write(b"elsewhere")
    with harness.io.new_input(url).open() as content:
        assert content.read() == b"elsewhere"
    harness.io.delete(url)
    assert not (tmp_path / "other" / "1.json").exists()


async def refused(settings: IcebergSettings, error: type[Exception], match: str) -> None:
    once = replace(settings, attempts=RetrySettings(attempts=1))
    tables = IcebergTables(once, SystemClock(), SystemEntropy())
    with pytest.raises(error, match=match):
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    await tables.close()


@pytest.mark.real("azure")
async def test_wrong_key_raises_access_denied(azure: AzureServer, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("Z3Vlc3NlZA==")
    wrong = {"storage.account_key": f"file:{tmp_path}/wrong"}
    await refused(iceberg_at(azure, tmp_path, wrong), AccessDenied, "HTTP 403.*credentials")


@pytest.mark.real("gcs")
async def test_missing_bucket_raises_access_denied(gcs: GcsServer, tmp_path: Path) -> None:
    other = {"storage.url": "gs://nothing-created-this/cluster"}
    await refused(iceberg_at(gcs, tmp_path, other), AccessDenied, "NoSuchBucket.*create the bucket")


async def test_unavailable_store_is_retried(tmp_path: Path) -> None:
    away = iceberg_at(GcsServer("http://127.0.0.1:9"), tmp_path, {"storage.attempt_timeout_ms": "100"})
    await refused(away, Retriable, "no connection")


def test_table_in_another_account_is_refused(tmp_path: Path) -> None:
    io = CloudHarness(iceberg_at(AzureServer("http://127.0.0.1:9/account"), tmp_path), tmp_path).io
    with pytest.raises(PermissionError, match="Azure account other, but"):
        io.new_input("abfss://dray@other.dfs.core.windows.net/t/1.json")
