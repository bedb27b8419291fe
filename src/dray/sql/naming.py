"""Table names in statements, and the topics they stand for.

DuckDB's own parser lists the tables of a statement. Where it cannot, as for a PIVOT, every word of the
statement counts: a topic may then be opened needlessly, but none is missed.

A topic goes by the name of its table, or by its own name in quotes. DuckDB ignores case; where a name would
mean two topics, only the names of their tables are accepted. A name that is one topic's own and another
topic's table is rejected.
"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Final

import duckdb

from dray.sql.results import SqlError
from dray.tables.names import table_name

_SHOWN_MAX: Final = 10


class TopicNames:
    """All topics, by every name they may have in SQL."""

    def __init__(self, topics: Iterable[str]) -> None:
        self._tables = {table_name(topic): topic for topic in topics}
        self._own: dict[str, list[str]] = {}
        for topic in self._tables.values():
            self._own.setdefault(topic.lower(), []).append(topic)

    @property
    def tables(self) -> list[str]:
        """The names of all tables."""
        return sorted(self._tables)

    def find(self, name: str) -> str | None:
        """Return the topic that a name stands for; raises `SqlError` if it stands for several."""
        lower = name.lower()
        if name in self._tables:
            topic = name if name in self._own.get(lower, []) else self._tables[name]
            if topic != self._tables[name]:
                raise SqlError(
                    f"{name} is both a topic and the table of the topic {self._tables[name]}; "
                    f'refer to them as {table_name(name)} and "{self._tables[name]}"'
                )
            return topic
        found = sorted({*self._own.get(lower, []), *filter(None, [self._tables.get(lower)])})
        if len(found) > 1:
            raise SqlError(
                f"{' and '.join(found)} differ only in case, which SQL ignores; "
                f"refer to them as {' and '.join(map(table_name, found))}"
            )
        return found[0] if found else None

    def near(self, name: str) -> str:
        """Return a suggestion for an unknown name, or a list of the topics."""
        known = {topic.lower(): self._written(topic) for topic in self._tables.values()}
        known |= {table: self._written(topic) for table, topic in self._tables.items()}
        close = list(dict.fromkeys(known[one] for one in get_close_matches(name.lower()[:249], known)))
        if close:
            return f"did you mean {' or '.join(close)}?"
        shown = [self._written(topic) for topic in sorted(self._tables.values())[:_SHOWN_MAX]]
        more = f" and {len(self._tables) - len(shown)} more" if len(self._tables) > len(shown) else ""
        return f"there are {', '.join(shown)}{more}" if shown else "there are no topics yet"

    def _written(self, topic: str) -> str:
        """Return a topic's name as a query has to write it: its table's if its own is ambiguous."""
        table, lower = table_name(topic), topic.lower()
        if table == topic:
            return topic
        unclear = lower in self._tables or len(self._own[lower]) > 1
        return table if unclear else f'"{topic}"'


def mentioned(connection: duckdb.DuckDBPyConnection, text: str) -> set[str]:
    """Return every possible table name in the text; raises DuckDB's error if it is not SQL."""
    found: set[str] = set()
    for statement in connection.extract_statements(text):
        try:
            found |= connection.get_table_names(statement.query)
        except duckdb.Error:
            return found | set(_words(text))
    return found


def _words(text: str) -> Iterator[str]:
    tokens = duckdb.tokenize(text)
    ends = [start for start, _ in tokens[1:]] + [len(text.encode())]
    for (start, _), end in zip(tokens, ends, strict=True):
        word = text.encode()[start:end].decode(errors="replace").strip()
        yield word[1:-1].replace('""', '"') if word.startswith(('"', "'")) else word
