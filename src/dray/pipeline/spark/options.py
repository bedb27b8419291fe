"""What readers and writers do alike with Spark's options. Pure.

Spark's option names do not tell capital letters from small ones, so neither does this; every message names
an option the way the documentation does. Options that name the cluster have been taken out before.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from dray.cluster.topic_names import is_valid_name

_CLUSTER_NAMES: Final = ("config", "data_dir", "metadata", "storage")
"""Options that name the cluster; whoever puts the process together reads them."""
_PATH: Final = "path"
"""What Spark calls the argument of `load` and of `save`."""
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


class OptionWrong(ValueError):
    """An option, or the schema that was asked for, makes no sense."""


def known_options(options: Mapping[str, str], names: Sequence[str], whose: str) -> dict[str, str]:
    """Return options by their proper names; raises `OptionWrong`."""
    proper = {name.lower(): name for name in names} | {_PATH: _PATH}
    given: dict[str, str] = {}
    for key, text in options.items():
        name = proper.get(key.lower())
        if name is None:
            there = (*names, *_CLUSTER_NAMES)
            raise OptionWrong(
                f"{key[:80]!r} is no option of the {whose}{suggestion(key, there)}; "
                f"there are {', '.join(there)}, and any SECTION.KEY of the settings"
            )
        given[name] = text
    return given


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return `; did you mean …?` or nothing."""
    by_lower = {one.lower(): one for one in names}
    close = get_close_matches(name.lower()[:80], by_lower, n=1)
    return f"; did you mean {by_lower[close[0]]}?" if close else ""


def topic_option(given: Mapping[str, str], call: str) -> str:
    """Return the topic, which is an option or what the call was given."""
    topic, path = given.get("topic"), given.get(_PATH)
    if topic is not None and path is not None and topic != path:
        raise OptionWrong(
            f"the option topic says {topic[:80]!r}, and {call} says {path[:80]!r}; give one of them"
        )
    found = topic if topic is not None else path
    if found is None:
        raise OptionWrong(f'no topic is given; write .option("topic", "NAME"), or .{call}("NAME")')
    if not is_valid_name(found):
        raise OptionWrong(
            f"{found[:80]!r} is not the name of a topic; one has 1 to 249 letters, digits, '.', '_' or '-'"
        )
    return found


def switch(name: str, text: str) -> bool:
    if text.strip().lower() not in {"true", "false"}:
        raise OptionWrong(f"{name} is {text[:80]!r}; expected true or false")
    return text.strip().lower() == "true"


def whole(name: str, text: str, highest: int | None = None) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,15}\s*", text) or not 1 <= int(text) <= (highest or int(text)):
        bounds = "at least 1" if highest is None else f"from 1 to {highest}"
        raise OptionWrong(f"{name} is {text[:80]!r}; expected a whole number, {bounds}")
    return int(text)


def size(name: str, text: str) -> int:
    match = re.fullmatch(r"\s*([0-9]{1,15})\s*([A-Za-z]{0,3})\s*", text)
    unit = None if match is None else _UNITS.get(match[2].lower())
    if match is None or unit is None or int(match[1]) < 1:
        raise OptionWrong(f"{name} is {text[:80]!r}; expected a size such as 32MiB, or a number of bytes")
    return int(match[1]) * unit
