"""SQL functions besides DuckDB's own.

`utf8(bytes)` returns text, or null if the bytes are not UTF-8. DuckDB's `decode` fails on those, and `TRY`
around it breaks some plans (DuckDB 1.5: "Failed to bind column reference").
`header(headers, name)` returns the value of the first header of that name.
"""

from typing import Final

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

_HEADER: Final = (
    "CREATE MACRO header(headers, name) AS list_filter(headers, lambda one: one.key = name)[1].value"
)


def add_functions(connection: duckdb.DuckDBPyConnection) -> None:
    connection.create_function(
        "utf8",
        _utf8,
        ["BLOB"],
        "VARCHAR",
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )
    connection.execute(_HEADER)


def _utf8(values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.chunked_array([[_text(value) for value in values.to_pylist()]], pa.string())


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None
