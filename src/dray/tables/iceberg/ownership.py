"""Creation of topics' tables, and checks that a table is ours.

Table properties name the topic, its id and the cluster. A topic that was deleted and created again has
another id, and therefore another table.
"""

from contextlib import suppress
from typing import Final

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError, TableAlreadyExistsError
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from dray.tables.iceberg.errors import REMEDY, committing, reading, reading_files
from dray.tables.iceberg.schema import MAINTENANCE, METRICS, SCHEMA, SPEC, check_version, misfits
from dray.tables.iceberg.settings import IcebergSettings
from dray.tables.names import table_name, topic_of
from dray.tables.port import NotOurs, TableAltered, TableDamaged, TableMissing, TopicTable

TOPIC: Final = "dray.topic"
TOPIC_ID: Final = "dray.topic-id"
CLUSTER_ID: Final = "dray.cluster-id"
SCHEMA_VERSION: Final = "dray.schema-version"


def identifier(settings: IcebergSettings, table: TopicTable) -> Identifier:
    return (*settings.namespace.split("."), table_name(table.topic))


def create_if_missing(catalog: Catalog, settings: IcebergSettings, table: TopicTable, folder: str) -> Table:
    """Create the table unless it exists; then it must be ours and our files must fit."""
    try:
        found = load(catalog, settings, table)
    except TableMissing:
        exists = not _create(catalog, settings, table, folder)
        try:
            found = load(catalog, settings, table)
        except TableMissing as error:
            if exists:
                raise not_loadable(identifier(settings, table)) from error
            raise
    check_fit(found)
    return found


def _create(catalog: Catalog, settings: IcebergSettings, table: TopicTable, folder: str) -> bool:
    """Return whether the table was created; False if one of that name exists."""
    name = identifier(settings, table)
    with committing(f"creating table {'.'.join(name)}"):
        _create_namespace(catalog, settings)
        try:
            catalog.create_table(
                name,
                schema=SCHEMA,
                location=f"{settings.root}/{folder}",
                partition_spec=SPEC,
                properties=_properties(settings, table),
            )
        except TableAlreadyExistsError:
            return False
    return True


def load(catalog: Catalog, settings: IcebergSettings, table: TopicTable) -> Table:
    """Load the table; raises `NotOurs` if it is not ours."""
    name = identifier(settings, table)
    found = load_any(catalog, name)
    wanted = {TOPIC_ID: table.topic_id, CLUSTER_ID: settings.cluster_id}
    actual = {key: found.properties[key] for key in wanted if key in found.properties}
    if any(wanted[key] != value for key, value in actual.items()):
        raise NotOurs(
            f"table {'.'.join(name)} has {actual}, not {wanted}: it belongs to another topic or cluster. "
            "Rename or drop that table, or use another namespace"
        )
    if lacking := {key: value for key, value in wanted.items() if key not in actual}:
        raise NotOurs(
            f"table {'.'.join(name)} lacks properties that identify its topic. If it is the table of topic "
            f"{table.topic}, set them again: {_pairs(lacking)}. If not, rename it, drop it, or use another "
            "namespace"
        )
    return found


def load_any(catalog: Catalog, name: Identifier) -> Table:
    """Load the table of a name, ours or not."""
    what = f"table {'.'.join(name)}"
    # A REST catalog sends the metadata; with others, it is read from its file here.
    with reading(what) if isinstance(catalog, RestCatalog) else reading_files(what):
        return catalog.load_table(name)


def not_loadable(name: Identifier) -> TableDamaged:
    """Return the error for a table that the catalog lists but does not find."""
    return TableDamaged(
        f"table {'.'.join(name)}: the catalog lists it but cannot load it. Its metadata file may "
        f"be missing: {REMEDY}"
    )


def check_fit(found: Table) -> None:
    """Check that our files fit the table as it is now."""
    check_version(found)
    if wrong := misfits(found.schema(), found.spec()):
        raise TableAltered(
            f"table {'.'.join(found.name())} was altered: {'; '.join(wrong)}. Undo that, or rename the table "
            "and Dray builds a new one from the files of the log"
        )


def whose(found: Table, settings: IcebergSettings) -> TopicTable | None:
    """Return the topic that the table's properties name; None if they do not name this cluster."""
    properties = found.properties
    topic = properties.get(TOPIC) or topic_of(found.name()[-1])
    if properties.get(CLUSTER_ID) != settings.cluster_id or TOPIC_ID not in properties or topic is None:
        return None
    return TopicTable(topic, properties[TOPIC_ID])


def _pairs(properties: dict[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in properties.items())


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
        **MAINTENANCE,
    }
