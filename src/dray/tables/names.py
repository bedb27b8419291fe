"""Names and locations of topics' tables.

A table's name must be legal without quotes in every engine, and some engines ignore case. So lowercase
letters, digits and underscores stand for themselves. Every other character, and a leading digit, is escaped
as `_x` + two hex digits + `_`: `orders` stays `orders`, `web.clicks-eu` becomes `web_x2e_clicks_x2d_eu`. An
underscore is escaped only where it would otherwise read as the start of an escape. The mapping is one to one;
`topic_of` is its inverse.
"""

import re
from typing import Final

TABLES: Final = "iceberg"
"""The folder that holds the topics' tables."""
_SPARE: Final = re.compile(rf"(?<=^{TABLES}/)@[0-9a-f]+/")
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_ESCAPE: Final = re.compile(r"_x([0-9a-f]{2})_")
_REST_OF_ESCAPE: Final = re.compile(r"x[0-9a-f]{2}_")


def table_name(topic: str) -> str:
    """Return the name of the topic's table."""
    if not _TOPIC.fullmatch(topic):
        raise ValueError(f"{topic!r} is not a topic name")
    name = ""
    for character in reversed(topic):
        # Backwards, because whether an underscore is plain depends on what follows it.
        plain = character in _PLAIN or (character == "_" and not _REST_OF_ESCAPE.match(name))
        name = (character if plain else _escaped(character)) + name
    return _escaped(name[0]) + name[1:] if name[0].isdigit() else name


def table_folder(topic: str) -> str:
    """Return the default location of the topic's table in the object store."""
    return f"{TABLES}/topic={topic}"


def spare_folder(topic: str, token: str) -> str:
    """Return its location if the default one was taken; the token consists of hex digits.

    Not below the default location: engines delete orphans anywhere below a table's own.
    """
    return f"{TABLES}/@{token}/topic={topic}"


def is_topics_folder(folder: str, topic: str) -> bool:
    """Whether Dray may have created the topic's table there."""
    return _SPARE.sub("", folder, count=1) == table_folder(topic)


def overlap(folder: str, other: str) -> bool:
    """Whether two folders are the same or one contains the other."""
    return f"{folder}/".startswith(f"{other}/") or f"{other}/".startswith(f"{folder}/")


def metadata_folder(folder: str) -> str:
    """Return the metadata folder of a table at this location, with a trailing slash."""
    return f"{folder}/metadata/"


def folder_of_metadata(path: str) -> str:
    """Return the location of the table that a metadata file belongs to."""
    return path.rpartition("/metadata/")[0]


def external_data_folder(folder: str) -> str:
    """Return the folder of other engines' data files, with a trailing slash; ours are log segments."""
    return f"{folder}/data/"


def topic_of(name: str) -> str | None:
    """Return the topic whose table has this name, or None if there can be none."""
    topic = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), name)
    return topic if _TOPIC.fullmatch(topic) and table_name(topic) == name else None


def _escaped(character: str) -> str:
    return f"_x{ord(character):02x}_"
