"""What a statement mentions, and which topic that is.

DuckDB's own parser says which tables a statement names. Where it cannot, as for a PIVOT, every word of the
statement counts: a topic may then be opened in vain, and none is missed.

A topic goes by the name of its table, or by its own name in quotes. DuckDB does not tell capital letters from
small ones; where that makes a name mean two topics, only the names of their tables are left. A name that is
one topic's own and another's table is refused.
"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Final

import duckdb

from dray.pipeline.sql.errors import SqlError
from dray.tables.names import table_name

_SHOWN_MAX: Final = 10


class TopicNames:
    """The topics there are, by everything they may be called."""

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
            namesake = name if name in self._own.get(lower, []) else self._tables[name]
            if namesake != self._tables[name]:
                raise SqlError(
                    f"{name} is a topic, and the table of the topic {self._tables[name]} is called so; "
                    f'call them {table_name(name)} and "{self._tables[name]}"'
                )
            return namesake
        found = sorted({*self._own.get(lower, []), *filter(None, [self._tables.get(lower)])})
        if len(found) > 1:
            raise SqlError(
                f"{' and '.join(found)} differ in capital letters alone, which SQL does not tell apart; "
                f"call them {' and '.join(map(table_name, found))}"
            )
        return found[0] if found else None

    def near(self, name: str) -> str:
        """Say what else could have been meant, or what there is."""
        known = {topic.lower(): self._written(topic) for topic in self._tables.values()}
        known |= {table: self._written(topic) for table, topic in self._tables.items()}
        close = list(dict.fromkeys(known[one] for one in get_close_matches(name.lower()[:249], known)))
        if close:
            return f"did you mean {' or '.join(close)}?"
        shown = [self._written(topic) for topic in sorted(self._tables.values())[:_SHOWN_MAX]]
        more = f" and {len(self._tables) - len(shown)} more" if len(self._tables) > len(shown) else ""
        return f"there are {', '.join(shown)}{more}" if shown else "there are none yet"

    def _written(self, topic: str) -> str:
        """Return a topic's own name as a query has it; its table's where its own would not be understood."""
        table, lower = table_name(topic), topic.lower()
        if table == topic:
            return topic
        unclear = lower in self._tables or len(self._own[lower]) > 1
        return table if unclear else f'"{topic}"'


def mentioned(connection: duckdb.DuckDBPyConnection, text: str) -> set[str]:
    """Return every name that may be a table's; raises what DuckDB raises for text that is no SQL."""
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
