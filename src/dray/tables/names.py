"""What a topic's table is called.

A table's name must be legal, unquoted, in every engine, and some engines do not tell upper from lower case.
So small letters, digits and underscores stand for themselves, and anything else a topic may be called, as
well as a digit at the beginning, is written `_x` + two hex digits + `_`: `orders` stays `orders`,
`web.clicks-eu` becomes `web_x2e_clicks_x2d_eu`. An underscore is written so only where it would otherwise
read as the beginning of such a mark. The mapping is one to one, and `topic_of` undoes it.
"""

import re
from typing import Final

_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_MARK: Final = re.compile(r"_x([0-9a-f]{2})_")
_REST_OF_MARK: Final = re.compile(r"x[0-9a-f]{2}_")


def table_name(topic: str) -> str:
    """The name of the topic's table."""
    if not _TOPIC.fullmatch(topic):
        raise ValueError(f"{topic!r} is no name of a topic")
    name = ""
    for character in reversed(topic):
        # From the end, because whether an underscore is plain depends on what was written behind it.
        plain = character in _PLAIN or (character == "_" and not _REST_OF_MARK.match(name))
        name = (character if plain else _mark(character)) + name
    return _mark(name[0]) + name[1:] if name[0].isdigit() else name


def table_folder(topic: str) -> str:
    """Where the topic's table is in the object store."""
    return f"iceberg/topic={topic}"


def metadata_folder(topic: str) -> str:
    """Where the table's metadata is; ends with a slash. Data files are elsewhere."""
    return f"{table_folder(topic)}/metadata/"


def topic_of(name: str) -> str | None:
    """The topic whose table has this name, or None if no topic's has."""
    topic = _MARK.sub(lambda found: chr(int(found[1], 16)), name)
    return topic if _TOPIC.fullmatch(topic) and table_name(topic) == name else None


def _mark(character: str) -> str:
    return f"_x{ord(character):02x}_"
