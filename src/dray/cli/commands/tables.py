"""`dray tables`: list and describe the tables of topics."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from dray.cli.failure import Failure
from dray.cli.render.tables import described_json, described_text, listed_json, listed_text
from dray.cli.settings_options import TABLE_FLAGS, takes_settings
from dray.runtime import LazyModule
from dray.scan.access import OpenCluster
from dray.server.cluster_query import query_cluster, topics_named
from dray.server.errors import require
from dray.settings import DraySettings, Loaded
from dray.settings.problems import Origin

if TYPE_CHECKING:
    from dray.server import table_query
else:  # Iceberg's libraries, which may not be installed; checked before use
    table_query = LazyModule("dray.server.table_query")

_MODULES: Final = ("numpy", "pyarrow", "pyiceberg")
_SQLITE: Final = "sqlite:"
_CATALOG: Final = "tables.catalog"
_CATALOG_FLAG: Final = Origin("flag", "--catalog")
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group
def tables() -> None:
    """List and describe the Iceberg tables of topics.

    \b
    Example:
      dray tables describe orders
    """


@tables.command(name="list")
@_json_option
@takes_settings(TABLE_FLAGS)
def list_tables(loaded: Loaded[DraySettings], *, as_json: bool) -> None:
    """List the tables, their sizes and lag.

    The lag is the number of records that are not in the table yet. Records are `differing` if the last audit
    found them missing or duplicated in the table: their file was deleted from the store, or another engine
    removed the file or restored an older one. `dray compaction status` lists their offsets. Rows rewritten by
    other engines do not count until their records are deleted.

    Tables that cannot be read follow at the end with the reason; in JSON it is in `error`.

    \b
    Examples:
      dray tables list
      dray tables list --json --data-dir ./dray-data
    """

    async def query(cluster: OpenCluster) -> "table_query.FoundTables | None":
        has_tables = _has_catalog(loaded)
        return await table_query.listed(cluster, loaded.settings) if has_tables else None

    found = query_cluster(loaded.settings, query)
    listed, broken = ([], []) if found is None else (found.listed, found.broken)
    if as_json:
        unreadable = [{"topic": one.topic, "table": one.name, "error": one.error} for one in broken]
        click.echo(json.dumps([*listed_json(listed), *unreadable], indent=2))
        return
    if listed or not broken:
        click.echo(listed_text(listed))
    for one in broken:
        click.echo(f"table {one.name} of topic {one.topic} cannot be read: {one.error}")


@tables.command
@click.argument("topic")
@_json_option
@takes_settings(TABLE_FLAGS)
def describe(loaded: Loaded[DraySettings], topic: str, *, as_json: bool) -> None:
    """Show the table of a topic and how to read it.

    Prints its location, its progress in each partition, and lines to paste into other engines. These name
    the current metadata file; each compaction writes a new one.

    \b
    Examples:
      dray tables describe orders
      dray tables describe orders --json | jq -r .metadata_location
    """

    async def query(cluster: OpenCluster) -> "table_query.DescribedTable | None":
        found = None
        if _has_catalog(loaded):
            found = await table_query.described(cluster, loaded.settings, topic)
        if found is None:
            await topics_named(cluster, topic)  # which raises if there is none
        return found

    found = query_cluster(loaded.settings, query)
    if found is None:
        raise Failure(f"topic '{topic}' has no table yet; compaction creates one for each topic with records")
    click.echo(json.dumps(described_json(found), indent=2) if as_json else described_text(found))


def _has_catalog(loaded: Loaded[DraySettings]) -> bool:
    """Return whether the catalog exists; opening a missing one would create it.

    Raises `ConfigurationError` if a library to read it is not installed.
    """
    catalog = loaded.settings.tables.catalog
    path = Path(catalog.removeprefix(_SQLITE))
    if catalog.startswith(_SQLITE) and not path.exists():
        if loaded.origins.get(_CATALOG) == _CATALOG_FLAG:
            raise Failure(f"there is no catalog at {path}; compaction creates it")
        return False
    require(_MODULES, "tables")
    return True
