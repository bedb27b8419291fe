"""Statements over many rows at once.

Every SQLite call lets the interpreter's lock go and must get it back, which can take milliseconds while the
event loop is busy. So a transaction makes few calls: one for up to `_AT_ONCE` rows. The statement for each
number of rows is made once, and the connections remember enough of them prepared (`schema.connect`).
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

import apsw

from dray.meta.sqlite.schema import SqlRow

_AT_ONCE: Final = 64
_STATEMENTS_MAX: Final = 1_000


def bulk(db: apsw.Connection, sql: str, given: Sequence[SqlRow]) -> list[SqlRow]:
    """Run `sql` for all given rows; it says `{rows}` where SQLite wants `(?, ...), (?, ...)`."""
    found: list[SqlRow] = []
    for at in range(0, len(given), _AT_ONCE):
        bunch = given[at : at + _AT_ONCE]
        statement = _statement(sql, len(bunch), len(bunch[0]))
        found += db.execute(statement, tuple(chain.from_iterable(bunch))).fetchall()
    return found


@lru_cache(maxsize=_STATEMENTS_MAX)
def _statement(sql: str, rows: int, columns: int) -> str:
    marks = "(" + ", ".join("?" * columns) + ")"
    return sql.format(rows=", ".join([marks] * rows))
