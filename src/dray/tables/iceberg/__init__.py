"""Topics as Iceberg tables, through PyIceberg."""

from dray.tables.iceberg.settings import IcebergSettings, RestCatalogSettings, SqlCatalogSettings
from dray.tables.iceberg.store import IcebergTables

__all__ = ["IcebergSettings", "IcebergTables", "RestCatalogSettings", "SqlCatalogSettings"]
