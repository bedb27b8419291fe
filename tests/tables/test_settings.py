"""Settings of catalogs: translated to PyIceberg's properties, and invalid ones rejected."""

import pytest

from dray.tables.iceberg import IcebergSettings, S3Access, SqlCatalogSettings
from dray.tables.port import Job


def test_s3_settings_use_pyiceberg_property_names() -> None:
    full = S3Access(
        endpoint="http://127.0.0.1:1",
        access_key="a",
        secret_key="s",
        session_token="t",
        virtual_hosted=True,
        connect_s=1.5,
    )
    assert full.properties() == {
        "s3.endpoint": "http://127.0.0.1:1",
        "s3.region": "us-east-1",
        "s3.access-key-id": "a",
        "s3.secret-access-key": "s",
        "s3.session-token": "t",
        "s3.force-virtual-addressing": "true",
        "s3.connect-timeout": "1.5",
        "s3.request-timeout": "30.0",
    }
    assert "s3.region" not in S3Access().properties()
    assert "'s'" not in repr(full)


@pytest.mark.parametrize("root", ["", "/directory", "file:/directory", "s3://bucket/", "memory:"])
def test_invalid_roots_are_rejected(root: str) -> None:
    with pytest.raises(ValueError, match="expected file:///directory"):
        IcebergSettings(catalog=SqlCatalogSettings(path="x"), root=root, cluster_id="c")


@pytest.mark.parametrize("job_id", ["", "two words", "a\nb", "é", "x" * 201])
def test_invalid_job_ids_are_rejected(job_id: str) -> None:
    with pytest.raises(ValueError, match="is not a job id"):
        Job(job_id)
