"""What a topic's table is called, and where it lies.

A table's name must be legal, unquoted, in every engine, and some engines do not tell upper from lower case.
So small letters, digits and underscores stand for themselves, and anything else a topic may be called, as
well as a digit at the beginning, is written `_x` + two hex digits + `_`: `orders` stays `orders`,
`web.clicks-eu` becomes `web_x2e_clicks_x2d_eu`. An underscore is written so only where it would otherwise
read as the beginning of such a mark. The mapping is one to one, and `topic_of` undoes it.
"""

import re
from typing import Final

TABLES: Final = "iceberg"
"""The folder that topics' tables are made in."""
_SPARE: Final = re.compile(rf"(?<=^{TABLES}/)@[0-9a-f]+/")
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
    """Where the topic's table is in the object store, unless something was there when it was made."""
    return f"{TABLES}/topic={topic}"


def spare_folder(topic: str, token: str) -> str:
    """Where it is then; the token is of hex digits. Not below the other folder, for engines sweep all that is
    below theirs."""
    return f"{TABLES}/@{token}/topic={topic}"


def is_topics_folder(folder: str, topic: str) -> bool:
    """Whether a topic's table may have been made there."""
    return _SPARE.sub("", folder, count=1) == table_folder(topic)


def overlap(folder: str, other: str) -> bool:
    """Whether two folders are the same, or one is inside the other."""
    return f"{folder}/".startswith(f"{other}/") or f"{other}/".startswith(f"{folder}/")


def metadata_folder(folder: str) -> str:
    """Where the metadata is of a table in this folder; ends with a slash."""
    return f"{folder}/metadata/"


def folder_of_metadata(path: str) -> str:
    """The folder of the table that has this file of metadata."""
    return path.rpartition("/metadata/")[0]


def others_folder(folder: str) -> str:
    """Where other engines put data files; ends with a slash. Ours are segments of the log, elsewhere."""
    return f"{folder}/data/"


def topic_of(name: str) -> str | None:
    """The topic whose table has this name, or None if no topic's has."""
    topic = _MARK.sub(lambda found: chr(int(found[1], 16)), name)
    return topic if _TOPIC.fullmatch(topic) and table_name(topic) == name else None


def _mark(character: str) -> str:
    return f"_x{ord(character):02x}_"
