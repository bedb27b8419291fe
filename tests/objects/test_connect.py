"""Settings of cloud stores: validation before any request, and masked secrets."""

import subprocess
import sys

import pytest

from dray.objects.cloud import AzureSettings, GcsSettings, S3Settings, open_azure, open_gcs, open_s3
from dray.objects.port import StoreUnusable
from dray.objects.url import StorageUrl
from dray.runtime import SystemClock

BUCKET = StorageUrl("s3", "bucket", "")


@pytest.mark.parametrize(
    "endpoint",
    ["not a url", "localhost:9000", "ftp://host", "http://", "http://host:port", "http://a b", "https://hö"],
)
def test_invalid_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(
        StoreUnusable, match=r"s3://bucket: endpoint .* is not an address; expected https://host"
    ):
        open_s3(BUCKET, S3Settings(endpoint=endpoint, allow_http=True), SystemClock())


def test_plain_http_must_be_allowed() -> None:
    with pytest.raises(StoreUnusable, match="not encrypted"):
        open_s3(BUCKET, S3Settings(endpoint="http://127.0.0.1:1"), SystemClock())


def test_missing_key_file_is_reported() -> None:
    settings = GcsSettings(service_account_path="/there/is/no/such/key.json")
    with pytest.raises(StoreUnusable, match=r"gs://bucket.*key\.json"):
        open_gcs(StorageUrl("gs", "bucket", ""), settings, SystemClock())


def test_invalid_key_is_refused() -> None:
    settings = AzureSettings(account="account", account_key="not base64!")
    with pytest.raises(StoreUnusable, match="az://container at Azure account account"):
        open_azure(StorageUrl("az", "container", ""), settings, SystemClock())


def test_secrets_are_not_printed() -> None:
    shown = repr(
        [
            S3Settings(access_key="SECRET", secret_key="SECRET", session_token="SECRET"),
            GcsSettings(service_account_key="SECRET"),
            AzureSettings(account="account", account_key="SECRET", sas_token="SECRET"),
        ]
    )
    assert "SECRET" not in shown
    assert "account='account'" in shown


def test_other_stores_do_not_import_obstore() -> None:
    stores = ("cached", "local", "memory", "metered", "port", "retrying", "url")
    imports = "; ".join(f"import dray.objects.{name}" for name in stores)
    code = f"{imports}; import sys; sys.exit('obstore' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
