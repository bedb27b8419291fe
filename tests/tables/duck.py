"""DuckDB with its own Iceberg reader: an engine that none of us wrote, and no JVM.

The extensions come as Python packages and are loaded from where these are; nothing is downloaded or
installed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import duckdb

_EXTENSIONS: Final = ("avro", "iceberg", "httpfs")


@contextmanager
def reading_iceberg() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that knows `iceberg_scan`, in UTC."""
    with duckdb.connect() as connection:
        for name in _EXTENSIONS:
            connection.execute(f"LOAD '{_file(name)}'")
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def _file(extension: str) -> Path:
    spec = find_spec(f"duckdb_extension_{extension}")
    assert spec is not None
    assert spec.origin is not None
    [found] = Path(spec.origin).parent.rglob(f"{extension}.duckdb_extension")
    return found
