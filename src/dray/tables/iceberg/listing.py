"""Which tables there are in the namespace, and which of them are topics'.

A table is a topic's only under its own name. One that cannot be read may be that of the topic it is named
after; it is told, and the others are listed all the same.
"""

from collections.abc import Iterable

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from dray.tables.iceberg import ownership
from dray.tables.iceberg.errors import is_unreached, reading
from dray.tables.iceberg.settings import IcebergSettings
from dray.tables.names import topic_of
from dray.tables.port import Listing, TableMissing, TablesError, TopicTable

_Topics = dict[Identifier, str]
"""Names of tables, each with the topic whose table would be called so."""


def listing(catalog: Catalog, settings: IcebergSettings) -> Listing:
    """Load every table whose name could be a topic's."""
    names = _names(catalog, settings)
    found, unreadable = _load_all(catalog, names)
    missing = [name for name in names if name not in found and name not in unreadable]
    # Dropped a moment ago, or a catalogue that says "not found" of a metadata file.
    still = _names(catalog, settings) if missing else {}
    unreadable |= {name: ownership.half_there(name) for name in missing if name in still}
    ours, elsewhere = _sorted(found.values(), settings)
    return Listing(ours, {names[name]: error for name, error in unreadable.items()}, elsewhere)


def _names(catalog: Catalog, settings: IcebergSettings) -> _Topics:
    namespace = tuple(settings.namespace.split("."))
    with reading(f"namespace {settings.namespace}"):
        names = catalog.list_tables(namespace) if catalog.namespace_exists(namespace) else []
    return {name: topic for name in names if (topic := topic_of(name[-1])) is not None}


def _load_all(
    catalog: Catalog, names: Iterable[Identifier]
) -> tuple[dict[Identifier, Table], dict[Identifier, TablesError]]:
    found: dict[Identifier, Table] = {}
    unreadable: dict[Identifier, TablesError] = {}
    for name in names:
        try:
            found[name] = ownership.load_any(catalog, name)
        except TableMissing:
            continue
        except TablesError as error:
            if is_unreached(error):
                raise
            unreadable[name] = error
    return found, unreadable


def _sorted(
    found: Iterable[Table], settings: IcebergSettings
) -> tuple[tuple[TopicTable, ...], dict[str, TopicTable]]:
    """Tell tables that have their own names from those that have others."""
    ours: list[TopicTable] = []
    elsewhere: dict[str, TopicTable] = {}
    for one in found:
        table = ownership.whose(one, settings)
        if table is None:
            continue
        if topic_of(one.name()[-1]) == table.topic:
            ours.append(table)
        else:
            elsewhere[".".join(one.name())] = table
    return tuple(ours), elsewhere
