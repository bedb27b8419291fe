"""Invalid settings of catalogs and ids of jobs, which are rejected."""

import pytest

from dray.tables.iceberg import IcebergSettings, SqlCatalogSettings
from dray.tables.port import Job


@pytest.mark.parametrize("root", ["", "/directory", "file:/directory", "s3://bucket/", "memory:"])
def test_invalid_roots_are_rejected(root: str) -> None:
    with pytest.raises(ValueError, match="expected file:///directory"):
        IcebergSettings(catalog=SqlCatalogSettings(path="x"), root=root, cluster_id="c")


@pytest.mark.parametrize("job_id", ["", "two words", "a\nb", "é", "x" * 201])
def test_invalid_job_ids_are_rejected(job_id: str) -> None:
    with pytest.raises(ValueError, match="is not a job id"):
        Job(job_id)
