"""Listing of the namespace: its tables, and the topics that they belong to.

A table belongs to a topic only under the topic's table name. An unreadable one may belong to the topic it is
named after, or be a renamed table of another topic; it is reported, and does not hide the others.
"""

from collections.abc import Iterable

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from dray.tables.iceberg import ownership
from dray.tables.iceberg.data_files import Root
from dray.tables.iceberg.errors import is_unreached, reading
from dray.tables.iceberg.settings import IcebergSettings
from dray.tables.names import topic_of
from dray.tables.port import Listing, TableMissing, TablesError, TopicTable

_Found = dict[Identifier, Table]
_Unreadable = dict[Identifier, TablesError]


def listing(catalog: Catalog, settings: IcebergSettings) -> Listing:
    """Load every table, whatever its name: a topic's table may have been renamed."""
    found, unreadable = _loaded(catalog, settings)
    ours, elsewhere = _by_name(found.values(), settings)
    root, topics = Root(settings.root), {name: topic_of(name[-1]) for name in unreadable}
    return Listing(
        tables=ours,
        unreadable={topic: unreadable[name] for name, topic in topics.items() if topic is not None},
        elsewhere=elsewhere,
        unreadable_others={
            ".".join(name): unreadable[name] for name, topic in topics.items() if topic is None
        },
        folders=tuple(sorted(root.folder(one.location()) for one in found.values())),
    )


def _loaded(catalog: Catalog, settings: IcebergSettings) -> tuple[_Found, _Unreadable]:
    """Load all tables. One that disappeared after it was listed may have been renamed, so list again until
    every name has been tried."""
    found: _Found = {}
    unreadable: _Unreadable = {}
    tried: set[Identifier] = set()
    names = _names(catalog, settings)
    while new := [name for name in names if name not in tried]:
        _load_all(catalog, new, found, unreadable)
        tried.update(new)
        missing = [name for name in new if name not in found and name not in unreadable]
        names = _names(catalog, settings) if missing else []
        # Listed but not found: the catalog reports a missing metadata file this way.
        unreadable |= {name: ownership.not_loadable(name) for name in missing if name in names}
    return found, unreadable


def _names(catalog: Catalog, settings: IcebergSettings) -> list[Identifier]:
    namespace = tuple(settings.namespace.split("."))
    with reading(f"namespace {settings.namespace}"):
        return catalog.list_tables(namespace) if catalog.namespace_exists(namespace) else []


def _load_all(catalog: Catalog, names: Iterable[Identifier], found: _Found, unreadable: _Unreadable) -> None:
    for name in names:
        try:
            found[name] = ownership.load_any(catalog, name)
        except TableMissing:
            continue
        except TablesError as error:
            if is_unreached(error):
                raise
            unreadable[name] = error


def _by_name(
    found: Iterable[Table], settings: IcebergSettings
) -> tuple[tuple[TopicTable, ...], dict[str, TopicTable]]:
    """Separate topics' tables under their own names from renamed ones."""
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
