"""The contract over AWS Glue, as moto simulates it, and its refusals."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from dray.runtime import RetrySettings, SystemClock, SystemEntropy
from dray.server.catalog import iceberg_settings
from dray.server.errors import ConfigurationError
from dray.settings import load_settings
from dray.tables.iceberg import GlueCatalogSettings, IcebergSettings, IcebergTables, catalogs, glue
from dray.tables.names import table_folder
from dray.tables.port import AccessDenied, TablesError, Unavailable
from dray.testing.contracts.tables import ORDERS, TablesContract, TablesHarness
from tests.tables.iceberg_harness import IcebergHarness


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with mock_aws():
        monkeypatch.setattr(BaseClient, "_make_api_call", _checking_versions(BaseClient._make_api_call))
        yield


def _checking_versions(call: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse an update of another version than the current one, as Glue does and moto does not."""
    one_at_a_time = Lock()

    def checked(client: Any, operation: str, arguments: dict[str, Any]) -> Any:
        if operation != "UpdateTable":
            return call(client, operation, arguments)
        with one_at_a_time:
            table = {"DatabaseName": arguments["DatabaseName"], "Name": arguments["TableInput"]["Name"]}
            if call(client, "GetTable", table)["Table"]["VersionId"] != arguments["VersionId"]:
                code = "ConcurrentModificationException"
                raise getattr(client.exceptions, code)({"Error": {"Code": code, "Message": ""}}, operation)
            return call(client, operation, arguments)

    return checked


def settings_at(folder: Path, more: dict[str, str] | None = None) -> IcebergSettings:
    """Return the settings of a compactor."""
    (folder / "store").mkdir(exist_ok=True)
    (folder / "secret").write_text("right")
    pairs = {
        "tables.catalog": "glue:",
        "storage.url": f"file:{folder}/store",
        "storage.region": "eu-central-1",
        "storage.access_key_id": "KEY",
        "storage.secret_access_key": f"file:{folder}/secret",
        **(more or {}),
    }
    settings = load_settings(None, {}, {}, [f"{key}={value}" for key, value in pairs.items()]).settings
    return iceberg_settings(settings.tables, settings.storage, "cluster-1")


class TestGlue(TablesContract):
    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[TablesHarness]:
        harness = IcebergHarness(settings_at(tmp_path))
        yield harness
        await harness.close()


def test_client_has_the_credentials_and_the_region_of_the_bucket(tmp_path: Path) -> None:
    given = settings_at(tmp_path, {"tables.aws_region": "us-west-2"}).catalog
    assert isinstance(given, GlueCatalogSettings)
    session = glue.session_of(given.access)
    credentials = session.get_credentials()
    assert (credentials.access_key, credentials.secret_key) == ("KEY", "right")
    assert session.region_name == "us-west-2"
    assert "right" not in repr(given)


def test_another_account_is_named_in_every_request(tmp_path: Path) -> None:
    catalog = catalogs.open_catalog(settings_at(tmp_path, {"tables.catalog": "glue:111122223333"}))
    assert isinstance(catalog, GlueCatalog)
    asked: list[dict[str, Any]] = []
    catalog.glue.meta.events.register("before-parameter-build.glue", lambda params, **_: asked.append(params))
    catalog.list_namespaces()
    assert [params["CatalogId"] for params in asked] == ["111122223333"]


@pytest.mark.parametrize(
    ("failure", "error", "text"),
    [
        (
            ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "GetTable"),
            AccessDenied,
            "check the credentials for the catalog",
        ),
        (
            ClientError({"Error": {"Code": "ThrottlingException", "Message": "slow down"}}, "GetTable"),
            Unavailable,
            "slow down",
        ),
        (EndpointConnectionError(endpoint_url="https://glue"), Unavailable, "cannot reach AWS Glue"),
    ],
)
async def test_failures_are_those_of_the_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception, error: type[TablesError], text: str
) -> None:
    def fails(*_: object) -> None:
        raise failure

    monkeypatch.setattr(BaseClient, "_make_api_call", fails)
    settings = settings_at(tmp_path)
    object.__setattr__(settings, "attempts", RetrySettings(attempts=1))
    tables = IcebergTables(settings, SystemClock(), SystemEntropy())
    with pytest.raises(error, match=text):
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    await tables.close()


async def test_missing_profile_is_reported(tmp_path: Path) -> None:
    pairs = {"tables.catalog": "glue:", "storage.url": f"file:{tmp_path}", "storage.profile": "no-such"}
    settings = load_settings(None, {}, {}, [f"{key}={value}" for key, value in pairs.items()]).settings
    tables = IcebergTables(
        iceberg_settings(settings.tables, settings.storage, "c"), SystemClock(), SystemEntropy()
    )
    with pytest.raises(AccessDenied, match="no-such"):
        await tables.listing()
    await tables.close()


def test_glue_without_boto3_is_refused_at_startup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dray.server.errors.find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match=r"boto3; install dray\[aws\]"):
        settings_at(tmp_path)


def test_tables_can_be_found_by_other_clients(tmp_path: Path) -> None:
    """Glue lists a table as one of Iceberg, at its metadata file."""
    settings = settings_at(tmp_path)
    catalog = catalogs.open_catalog(settings)
    catalog.create_namespace("dray")
    made = catalog.create_table(
        ("dray", "t"), schema=Schema(NestedField(1, "a", LongType())), location=f"{settings.root}/t"
    )
    found = boto3.client("glue", region_name="eu-central-1").get_table(DatabaseName="dray", Name="t")["Table"]
    assert found["Parameters"]["table_type"] == "ICEBERG"
    assert found["Parameters"]["metadata_location"] == made.metadata_location
