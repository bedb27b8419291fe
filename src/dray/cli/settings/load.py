"""Puts the sources together: default < file < environment < flag.

Every value given is checked, also one that a stronger source overrides, so that a wrong line does not lie
in wait. Pure but
for `read_secret`, which follows `file:` references.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from dray.cli.settings.given import Given, Reading
from dray.cli.settings.problems import DEFAULT, Origin, Problem, SettingsError
from dray.cli.settings.schema import Field, Schema, Section
from dray.cli.settings.values import ReadSecret, WrongValue, value_of

TreeT = TypeVar("TreeT", bound=msgspec.Struct)
TreeT_co = TypeVar("TreeT_co", bound=msgspec.Struct, covariant=True)


@dataclass(frozen=True, slots=True)
class Loaded(Generic[TreeT_co]):
    """Effective settings, and where each value that is not a default came from."""

    settings: TreeT_co
    schema: Schema
    origins: Mapping[str, Origin]

    def origin(self, field: Field) -> Origin:
        return self.origins.get(field.path, DEFAULT)

    def value(self, field: Field) -> object:
        value: object = getattr(getattr(self.settings, field.section), field.key)
        return value


@dataclass(frozen=True, slots=True)
class _Valued:
    value: object
    origin: Origin


def load(
    tree: type[TreeT], schema: Schema, readings: Sequence[Reading], read_secret: ReadSecret
) -> Loaded[TreeT]:
    """Return the settings that readings, weakest first, come to; or raise all problems."""
    problems = [problem for reading in readings for problem in reading.problems]
    values: dict[str, _Valued] = {}
    for given in (one for reading in readings for one in reading.given):
        try:
            values[given.field.path] = _Valued(value_of(given.field, given.text, read_secret), given.origin)
        except WrongValue as error:
            problems.append(_wrong(given, error))
    sections = {name: _built(one, values, problems) for name, one in schema.sections.items()}
    if problems:
        raise SettingsError(problems)
    return Loaded(tree(**sections), schema, {path: one.origin for path, one in values.items()})


def _wrong(given: Given, error: WrongValue) -> Problem:
    return Problem(given.origin, f"{given.field.path}: {error}")


def _built(section: Section, values: Mapping[str, _Valued], problems: list[Problem]) -> msgspec.Struct | None:
    """Build one section; only its `__post_init__` can see that two values are at odds."""
    fields = section.fields.values()
    missing = [field for field in fields if field.required and field.path not in values]
    problems += [Problem(DEFAULT, f"{field.path} is required; expected {field.allowed}") for field in missing]
    if missing:
        return None
    given = {field.key: values[field.path].value for field in fields if field.path in values}
    try:
        return section.struct(**given)
    except ValueError as error:
        where = ", ".join(sorted({str(values[f.path].origin) for f in fields if f.path in values}))
        problems.append(
            Problem(DEFAULT, f"{where}: {section.name}: {error}" if where else f"{section.name}: {error}")
        )
        return None
