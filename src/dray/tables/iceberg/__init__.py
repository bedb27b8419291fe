"""Topics as Iceberg tables, through PyIceberg."""

from dray.tables.iceberg.settings import (
    AwsAccess,
    AwsSigning,
    GlueCatalogSettings,
    IcebergSettings,
    RestCatalogSettings,
    SqlCatalogSettings,
)
from dray.tables.iceberg.store import IcebergTables

__all__ = [
    "AwsAccess",
    "AwsSigning",
    "GlueCatalogSettings",
    "IcebergSettings",
    "IcebergTables",
    "RestCatalogSettings",
    "SqlCatalogSettings",
]
