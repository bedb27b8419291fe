"""`dray tables`: list and describe the tables of topics."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from dray.cli.cluster_look import chosen_topics, look_into_cluster
from dray.cli.failure import Failure, WrongUse
from dray.cli.options import takes_settings
from dray.cli.settings import DraySettings, Loaded
from dray.cli.table_pages import described_json, described_text, listed_json, listed_text
from dray.pipeline.access import OpenCluster
from dray.runtime import LazyModule

if TYPE_CHECKING:
    from dray.cli import table_look
else:  # Iceberg's libraries; they may be missing, which is told before
    table_look = LazyModule("dray.cli.table_look")

_MODULES: Final = ("numpy", "pyarrow", "pyiceberg")
_SQLITE: Final = "sqlite:"
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
@takes_settings
def list_tables(loaded: Loaded[DraySettings], *, as_json: bool) -> None:
    """List the tables: their rows, files and bytes, and how many records of the log are not in them yet.

    Records are `differing` when their file is gone from the store, or when somebody has taken it out of the
    table or put an old one back, as a compactor has found at its last look; `dray compaction status` says
    which. Rows that another engine has rewritten are its own to change; only those differ that the log has
    deleted since.

    A table that cannot be read is told after the others, with the reason; in JSON as `error`.

    \b
    Examples:
      dray tables list
      dray tables list --json --data-dir ./dray-data
    """

    async def look(cluster: OpenCluster) -> "table_look.FoundTables | None":
        has_tables = _has_catalogue(loaded.settings)
        return await table_look.listed(cluster, loaded.settings) if has_tables else None

    found = look_into_cluster(loaded.settings, look)
    listed, broken = ([], []) if found is None else (found.listed, found.broken)
    if as_json:
        wrong = [{"topic": one.topic, "table": one.name, "error": one.error} for one in broken]
        click.echo(json.dumps([*listed_json(listed), *wrong], indent=2))
        return
    if listed or not broken:
        click.echo(listed_text(listed))
    for one in broken:
        click.echo(f"table {one.name} of topic {one.topic} cannot be read: {one.error}")


@tables.command
@click.argument("topic")
@_json_option
@takes_settings
def describe(loaded: Loaded[DraySettings], topic: str, *, as_json: bool) -> None:
    """Show the table of a topic: where it is, how far it is in each partition, and how others read it.

    What other engines are given is the metadata file of this moment; each compaction makes a new one.

    \b
    Examples:
      dray tables describe orders
      dray tables describe orders --json | jq -r .metadata_location
    """

    async def look(cluster: OpenCluster) -> "table_look.DescribedTable | None":
        found = None
        if _has_catalogue(loaded.settings):
            found = await table_look.described(cluster, loaded.settings, topic)
        if found is None:
            await chosen_topics(cluster, topic)  # which says so if there is none
        return found

    found = look_into_cluster(loaded.settings, look)
    if found is None:
        raise Failure(f"topic '{topic}' has no table; compaction makes one for each topic with records")
    click.echo(json.dumps(described_json(found), indent=2) if as_json else described_text(found))


def _has_catalogue(settings: DraySettings) -> bool:
    """Whether the catalogue is there: to open one that is not would make it.

    Raises `WrongUse` if what it takes to read it is not there.
    """
    catalog = settings.tables.catalog
    if catalog.startswith(_SQLITE) and not Path(catalog.removeprefix(_SQLITE)).exists():
        return False
    missing = [name for name in _MODULES if find_spec(name) is None]
    if missing:
        raise WrongUse(f"this needs {', '.join(missing)}: pip install 'dray[tables]'")
    return True
