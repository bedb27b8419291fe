"""Results of SQL statements: columns, Arrow batches, and rows as Python values; and why there is none.

Python's calendar ends in the year 9999 and Arrow's does not, while producers choose their timestamps freely.
A timestamp that Python cannot represent is returned as an integer in the column's unit, such as microseconds.

    SqlError        the query, or a name in it, is wrong; the message is one line
    └── RowsMoved   objects were rewritten and deleted during the query; run it again

Errors of the stores and of the log propagate unchanged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa


class SqlError(Exception):
    """The query, or a name in it, is wrong."""


class RowsMoved(SqlError):
    """Objects were rewritten and deleted during the query, repeatedly or after its first rows."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a statement; batches are computed on demand."""

    columns: Sequence[str]
    batches: Iterator[pa.RecordBatch]


def pages(result: Result) -> Iterator[list[tuple[object, ...]]]:
    """Yield the rows of a result in non-empty lists."""
    for batch in result.batches:
        if batch.num_rows:
            columns = map(_values, result.columns, batch.columns)
            yield list(zip(*columns, strict=True))


def _values(name: str, column: pa.Array) -> list[object]:
    try:
        found: list[object] = column.to_pylist()
    except (OverflowError, ValueError) as error:
        if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
            return [_value(one) for one in column]
        raise SqlError(f"cannot print column {name}: {error}; cast it to VARCHAR") from error
    return found


def _value(scalar: pa.Scalar) -> object:
    try:
        found: object = scalar.as_py()
    except (OverflowError, ValueError):
        return scalar.value
    return found
