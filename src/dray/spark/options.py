"""Parsing of data source options, shared by readers and writers. Pure.

Spark's option names are case-insensitive, so these are too; messages spell an option as the documentation
does. Options that name the cluster have been removed before.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from dray.cluster.topic_names import is_valid_name
from dray.spark.errors import InvalidOption

_CLUSTER_NAMES: Final = ("config", "data_dir", "metadata", "storage")
"""Options that name the cluster, which `dray.server.spark_source` reads."""
_PATH: Final = "path"
"""Spark's name for the argument of `load` and `save`."""
_UNITS: Final = {
    "": 1,
    "b": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
}


def known_options(options: Mapping[str, str], names: Sequence[str], whose: str) -> dict[str, str]:
    """Return options by their documented names; raises `InvalidOption`."""
    proper = {name.lower(): name for name in names} | {_PATH: _PATH}
    given: dict[str, str] = {}
    for key, text in options.items():
        name = proper.get(key.lower())
        if name is None:
            there = (*names, *_CLUSTER_NAMES)
            raise InvalidOption(
                f"{key[:80]!r} is not an option of the {whose}{suggestion(key, there)}; "
                f"the options are {', '.join(there)}, and any SECTION.KEY of the settings"
            )
        given[name] = text
    return given


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return `; did you mean …?` or an empty string."""
    by_lower = {one.lower(): one for one in names}
    close = get_close_matches(name.lower()[:80], by_lower, n=1)
    return f"; did you mean {by_lower[close[0]]}?" if close else ""


def topic_option(given: Mapping[str, str], call: str) -> str:
    """Return the topic, from the option or the argument of the call."""
    topic, path = given.get("topic"), given.get(_PATH)
    if topic is not None and path is not None and topic != path:
        raise InvalidOption(f"option topic is {topic[:80]!r}, but {call}() names {path[:80]!r}; use one")
    found = topic if topic is not None else path
    if found is None:
        raise InvalidOption(f'no topic; set .option("topic", "NAME"), or .{call}("NAME")')
    if not is_valid_name(found):
        raise InvalidOption(
            f"{found[:80]!r} is not a valid topic name; expected 1 to 249 letters, digits, '.', '_' or '-'"
        )
    return found


def boolean(name: str, text: str) -> bool:
    if text.strip().lower() not in {"true", "false"}:
        raise InvalidOption(f"{name} is {text[:80]!r}; expected true or false")
    return text.strip().lower() == "true"


def integer(name: str, text: str, highest: int | None = None) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,15}\s*", text) or not 1 <= int(text) <= (highest or int(text)):
        bounds = "at least 1" if highest is None else f"1 to {highest}"
        raise InvalidOption(f"{name} is {text[:80]!r}; expected an integer, {bounds}")
    return int(text)


def size(name: str, text: str) -> int:
    match = re.fullmatch(r"\s*([0-9]{1,15})\s*([A-Za-z]{0,3})\s*", text)
    unit = None if match is None else _UNITS.get(match[2].lower())
    if match is None or unit is None or int(match[1]) < 1:
        raise InvalidOption(f"{name} is {text[:80]!r}; expected a size such as 32MiB, or a number of bytes")
    return int(match[1]) * unit
