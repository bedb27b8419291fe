"""Version hints, by which readers that know only a table's folder find its current metadata file.

`metadata/version-hint.text` holds the name of a metadata file beside it without `.metadata.json`, such as
`00007-5c1e…`. DuckDB's `iceberg_scan('FOLDER')` needs it; ClickHouse and PyIceberg's `StaticTable` use it.

The catalog alone decides which metadata is current. The hint is replaced after a commit, so it can be stale:
after a crash in between, a failed write, or a commit by another engine. Readers then see an older snapshot,
and none at all once its metadata file has been deleted. Our next commit or expiry writes the hint again.

Only tables in a SQLite catalog get a hint. Behind a REST catalog the server writes the metadata files, and a
client that went around the server would bypass its access control.
"""

from contextlib import suppress
from typing import Final

from pyiceberg.table import Table

from dray.observe import get_logger

_NAME: Final = "version-hint.text"
_SUFFIX: Final = ".metadata.json"
_log = get_logger("tables")


def location(table: Table) -> str:
    """Return the URL of the table's hint, beside its metadata file."""
    return f"{table.metadata_location.rpartition('/')[0]}/{_NAME}"


def write(table: Table) -> None:
    """Point the hint at the table's metadata, atomically. A failure is only logged: the commit stands."""
    try:
        with table.io.new_output(location(table)).create(overwrite=True) as hint:
            hint.write(_content(table))
    except OSError as error:
        _log.warning("version_hint_failed", table=".".join(table.name()), error=str(error))


def refresh(table: Table) -> None:
    """Write the hint unless it already points at the table's metadata."""
    with suppress(OSError), table.io.new_input(location(table)).open() as hint:
        if hint.read() == _content(table):
            return
    write(table)


def remove(table: Table) -> None:
    """Delete the hint of a table that was dropped, as far as that is possible."""
    with suppress(OSError):
        table.io.delete(location(table))


def _content(table: Table) -> bytes:
    return table.metadata_location.rpartition("/")[2].removesuffix(_SUFFIX).encode()
