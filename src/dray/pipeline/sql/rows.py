"""Rows of Arrow as Python's own values, a page at a time.

Python's calendar ends in the year 9999 and Arrow's does not: producers choose their timestamps. One that
Python does not have is given as the count of microseconds, or whatever its unit is.
"""

from collections.abc import Iterator

import pyarrow as pa

from dray.pipeline.sql.engine import Result
from dray.pipeline.sql.errors import SqlError


def pages(result: Result) -> Iterator[list[tuple[object, ...]]]:
    """Yield the rows of a result; none is empty."""
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
        raise SqlError(f"a value of {name} cannot be shown: {error}; cast it to VARCHAR") from error
    return found


def _value(scalar: pa.Scalar) -> object:
    try:
        found: object = scalar.as_py()
    except (OverflowError, ValueError):
        return scalar.value
    return found
