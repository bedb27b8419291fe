"""Which tables there are in the namespace, and which of them are topics'.

A table is a topic's only under its own name. One that cannot be read may be that of the topic it is named
after, or a topic's that somebody has renamed; it is told, and the others are listed all the same.
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
    """Load every table, whatever its name: anybody may have renamed a topic's."""
    found, unreadable = _everything(catalog, settings)
    ours, elsewhere = _sorted(found.values(), settings)
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


def _everything(catalog: Catalog, settings: IcebergSettings) -> tuple[_Found, _Unreadable]:
    """Load all tables. One that is gone when its turn comes may have another name by then: look again, until
    there is no name that was not tried."""
    found: _Found = {}
    unreadable: _Unreadable = {}
    tried: set[Identifier] = set()
    names = _names(catalog, settings)
    while new := [name for name in names if name not in tried]:
        _load_all(catalog, new, found, unreadable)
        tried.update(new)
        missing = [name for name in new if name not in found and name not in unreadable]
        names = _names(catalog, settings) if missing else []
        # Named and yet not there: a catalogue that says "not found" of a metadata file.
        unreadable |= {name: ownership.half_there(name) for name in missing if name in names}
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
