"""Making a topic's table, and knowing it again.

The table lives where the spec says, at `iceberg/topic=<topic>` under the store's root. Properties say whose
it is: a topic that was deleted and made anew has another id, and its table is another one.
"""

from contextlib import suppress
from typing import Final

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError, TableAlreadyExistsError
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from dray.tables.iceberg.errors import committing, reading
from dray.tables.iceberg.schema import METRICS, SCHEMA, SPEC, UPKEEP, misfits
from dray.tables.iceberg.settings import IcebergSettings
from dray.tables.names import table_folder, table_name, topic_of
from dray.tables.port import NotOurs, TableAltered, TopicTable

TOPIC: Final = "dray.topic"
TOPIC_ID: Final = "dray.topic-id"
CLUSTER_ID: Final = "dray.cluster-id"
SCHEMA_VERSION: Final = "dray.schema-version"


def identifier(settings: IcebergSettings, table: TopicTable) -> Identifier:
    return (*settings.namespace.split("."), table_name(table.topic))


def create_if_missing(catalog: Catalog, settings: IcebergSettings, table: TopicTable) -> None:
    """Make the table unless it exists; then it must be ours and fit."""
    name = identifier(settings, table)
    with committing(f"creating table {'.'.join(name)}"):
        _create_namespace(catalog, settings)
        if not catalog.table_exists(name):
            with suppress(TableAlreadyExistsError):
                catalog.create_table(
                    name,
                    schema=SCHEMA,
                    location=f"{settings.root}/{table_folder(table.topic)}",
                    partition_spec=SPEC,
                    properties=_properties(settings, table),
                )
    check_fit(load(catalog, settings, table))


def load(catalog: Catalog, settings: IcebergSettings, table: TopicTable) -> Table:
    """The table as it is now, if it is ours."""
    name = identifier(settings, table)
    with reading(f"table {'.'.join(name)}"):
        found = catalog.load_table(name)
    wanted = {TOPIC_ID: table.topic_id, CLUSTER_ID: settings.cluster_id}
    told = {key: found.properties.get(key) for key in wanted}
    if told != wanted:
        raise NotOurs(
            f"table {'.'.join(name)} has {told}, not {wanted}: it belongs to another topic or cluster. "
            "Rename or drop that table, or use another namespace"
        )
    return found


def check_fit(found: Table) -> None:
    """See that our files fit the table as it is now."""
    if wrong := misfits(found.schema(), found.spec()):
        raise TableAltered(
            f"table {'.'.join(found.name())} was altered: {'; '.join(wrong)}. Undo that, or rename the table "
            "and Dray makes a new one from the files of the log"
        )


def owned(catalog: Catalog, settings: IcebergSettings) -> tuple[TopicTable, ...]:
    """The tables in the namespace that say they are this cluster's."""
    namespace = tuple(settings.namespace.split("."))
    with reading(f"namespace {settings.namespace}"):
        if not catalog.namespace_exists(namespace):
            return ()
        names = [name for name in catalog.list_tables(namespace) if topic_of(name[-1]) is not None]
        found = [catalog.load_table(name).properties for name in names if catalog.table_exists(name)]
    return tuple(
        TopicTable(properties[TOPIC], properties[TOPIC_ID])
        for properties in found
        if properties.get(CLUSTER_ID) == settings.cluster_id and {TOPIC, TOPIC_ID} <= properties.keys()
    )


def _create_namespace(catalog: Catalog, settings: IcebergSettings) -> None:
    namespace = tuple(settings.namespace.split("."))
    if not catalog.namespace_exists(namespace):
        with suppress(NamespaceAlreadyExistsError):
            catalog.create_namespace(namespace)


def _properties(settings: IcebergSettings, table: TopicTable) -> dict[str, str]:
    return {
        TOPIC: table.topic,
        TOPIC_ID: table.topic_id,
        CLUSTER_ID: settings.cluster_id,
        SCHEMA_VERSION: "1",
        **METRICS,
        **UPKEEP,
    }
