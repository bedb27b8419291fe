"""What a source gives: texts for known settings, and problems. Shared by the three sources."""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from dray.cli.settings.problems import Origin, Problem, did_you_mean, named, quoted
from dray.cli.settings.schema import Field, Schema

_LIKE_A_SECRET: Final = re.compile(r"secret|pass|token|credential|key", re.IGNORECASE)
_KEY_MAX: Final = 80
_NEAR: Final = 0.5
"""How alike a key and a secret's name must be for the value to be hidden; less than for a suggestion."""


@dataclass(frozen=True, slots=True)
class Given:
    """A source says that `field` is `text`; `None` leaves it unset on purpose."""

    field: Field
    text: str | None
    origin: Origin


@dataclass(slots=True)
class Reading:
    """All that one source gives."""

    given: list[Given] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def unknown_key(origin: Origin, path: str, text: str | None, schema: Schema) -> Problem:
    """Tell of a key that does not exist; its value is shown unless the key looks like a misspelt secret."""
    section, _, key = path.partition(".")
    known = schema.sections[section].fields if section in schema.sections else {}
    hint = did_you_mean(key, known) or did_you_mean(path, (one.path for one in schema.fields()))
    allowed = f"{section} has {', '.join(known)}" if known else f"sections are {', '.join(schema.sections)}"
    return Problem(
        origin, f"{named(path)} is not a setting{value_shown(key or path, text, schema)}{hint}; {allowed}"
    )


def unknown_section(origin: Origin, name: str, schema: Schema) -> Problem:
    """Tell of a section that does not exist, or of a setting that stands outside its section."""
    homes = [one.path for one in schema.fields() if one.key == name]
    hint = f"; did you mean {homes[0]}?" if homes else did_you_mean(name, schema.sections)
    allowed = ", ".join(schema.sections)
    return Problem(origin, f"{named(name)} is not a section{hint}; sections are {allowed}")


def value_shown(key: str, text: str | None, schema: Schema) -> str:
    """Return ` (value …)` for a key that is not known, or nothing if it may be meant for a secret."""
    secrets = [one.key for one in schema.fields() if one.kind == "secret"]
    near = get_close_matches(key[:_KEY_MAX], secrets, cutoff=_NEAR)
    return "" if text is None or near or _LIKE_A_SECRET.search(key) else f" (value {quoted(text)})"
