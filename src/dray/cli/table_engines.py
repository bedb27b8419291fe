"""Lines to paste into other engines to read a table. No secret is in them: engines have ways of their own."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dray.cli.settings import DraySettings

if TYPE_CHECKING:
    from dray.tables.iceberg.outside import Place

_SQLITE = "sqlite:"


@dataclass(frozen=True, slots=True)
class Engines:
    """What each engine is told."""

    duckdb: str
    pyiceberg: str
    spark: str


def engines_of(settings: DraySettings, root: str, place: "Place") -> Engines:
    # DuckDB takes a path as it is.
    path = place.metadata_location.removeprefix("file://")
    return Engines(
        duckdb=f"FROM iceberg_scan('{path}');",
        pyiceberg=f'load_catalog("dray", {_catalog(settings, root)}).load_table("{place.name}")',
        spark=f'spark.read.format("iceberg").load("{place.metadata_location}")',
    )


def _catalog(settings: DraySettings, root: str) -> str:
    catalog, warehouse = settings.tables.catalog, settings.tables.warehouse
    if catalog.startswith(_SQLITE):
        path = Path(catalog.removeprefix(_SQLITE)).absolute()
        return f'type="sql", uri="sqlite:///{path}", warehouse="{root}"'
    return f'type="rest", uri="{catalog}"' + (f', warehouse="{warehouse}"' if warehouse else "")
