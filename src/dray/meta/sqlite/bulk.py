"""Statements over many rows at once.

Every SQLite call lets the interpreter's lock go and must get it back, which can take milliseconds while the
event loop is busy. So a transaction makes few calls: rows are taken in bunches of a few fixed sizes, one call
each, and the fixed sizes let apsw keep the prepared statements.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import apsw

from dray.meta.sqlite.schema import SqlRow

_BUNCHES: Final = (64, 16, 4, 1)


def bulk(db: apsw.Connection, sql: str, given: Sequence[SqlRow]) -> list[SqlRow]:
    """Run `sql` for all given rows; it says `{rows}` where SQLite wants `(?, ...), (?, ...)`."""
    found: list[SqlRow] = []
    for bunch in _bunches(given):
        marks = "(" + ", ".join("?" * len(bunch[0])) + ")"
        statement = sql.format(rows=", ".join([marks] * len(bunch)))
        found += db.execute(statement, tuple(chain.from_iterable(bunch))).fetchall()
    return found


def _bunches(given: Sequence[SqlRow]) -> Iterator[Sequence[SqlRow]]:
    at = 0
    for size in _BUNCHES:
        while len(given) - at >= size:
            yield given[at : at + size]
            at += size
