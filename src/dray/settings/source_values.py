"""The result of reading one source: texts for known settings, and problems."""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from dray.settings.problems import Origin, Problem, did_you_mean, named, quoted
from dray.settings.schema import Field, Schema, Target
from dray.settings.values import REFERENCE

_SECRET_PATTERN: Final = re.compile(r"secret|pass|token|credential|key", re.IGNORECASE)
_KEY_MAX: Final = 80
_SECRET_SIMILARITY: Final = 0.5
"""How similar to a secret's name a key must be for its value to be hidden; less than for a suggestion."""


@dataclass(frozen=True, slots=True)
class SourceValue:
    """A source sets `field` to `text`; `None` leaves it unset explicitly."""

    field: Field
    text: str | None
    origin: Origin

    @property
    def is_reference(self) -> bool:
        """Whether the text names the file of a secret."""
        return self.field.kind == "secret" and self.text is not None and self.text.startswith(REFERENCE)

    @property
    def is_plain_secret(self) -> bool:
        return self.field.kind == "secret" and bool(self.text) and not self.is_reference


@dataclass(slots=True)
class Reading:
    """Everything that one source contains."""

    given: list[SourceValue] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _set: dict[str, Target] = field(default_factory=dict)

    def add(self, target: Target, text: str | None, origin: Origin) -> None:
        """Add a value; a source that sets a secret and its file is a problem."""
        one = target.field
        if text and self._set.setdefault(one.path, target) != target:
            what = f"{one.path} and {one.path}_file are both set; set one of them"
            self.problems.append(Problem(origin, what))
        reference = None if text is None else f"{REFERENCE}{text}"
        self.given.append(SourceValue(one, reference if target.is_file else text, origin))


def unknown_key(origin: Origin, path: str, text: str | None, schema: Schema) -> Problem:
    """Report a key that does not exist; its value is shown unless the key resembles the name of a secret."""
    section, _, key = path.partition(".")
    known = schema.sections[section].fields if section in schema.sections else {}
    hint = did_you_mean(key, known) or did_you_mean(path, (one.path for one in schema.fields()))
    allowed = f"{section} has {', '.join(known)}" if known else f"sections are {', '.join(schema.sections)}"
    return Problem(
        origin, f"unknown setting {named(path)}{value_shown(key or path, text, schema)}{hint}; {allowed}"
    )


def unknown_section(origin: Origin, name: str, schema: Schema) -> Problem:
    """Report a section that does not exist, or a setting outside its section."""
    candidates = [one.path for one in schema.fields() if one.key == name]
    hint = f"; did you mean {candidates[0]}?" if candidates else did_you_mean(name, schema.sections)
    allowed = ", ".join(schema.sections)
    return Problem(origin, f"unknown section {named(name)}{hint}; sections are {allowed}")


def value_shown(key: str, text: str | None, schema: Schema) -> str:
    """Return ` (value …)` for a key that is not known, or nothing if the key may stand for a secret."""
    secrets = [one.key for one in schema.fields() if one.kind == "secret"]
    near = get_close_matches(key[:_KEY_MAX], secrets, cutoff=_SECRET_SIMILARITY)
    return "" if text is None or near or _SECRET_PATTERN.search(key) else f" (value {quoted(text)})"
