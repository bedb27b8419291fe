"""Precedence and validation of the sources: default < file < environment < flag.

Every value is validated, also one that a stronger source overrides, so that a wrong line is reported before
it takes effect. Pure except for `read_secret`, which follows `file:` references.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from dray.settings.problems import DEFAULT, Origin, Problem, SettingsError
from dray.settings.schema import Field, Schema, Section
from dray.settings.source_values import Reading, SourceValue
from dray.settings.values import InvalidValue, ReadSecret, value_of

TreeT = TypeVar("TreeT", bound=msgspec.Struct)
TreeT_co = TypeVar("TreeT_co", bound=msgspec.Struct, covariant=True)


@dataclass(frozen=True, slots=True)
class Loaded(Generic[TreeT_co]):
    """Effective settings, and where each value that is not a default came from."""

    settings: TreeT_co
    schema: Schema
    origins: Mapping[str, Origin]
    exposed: tuple[str, ...] = ()
    """Files with secrets that every user of the machine can read."""

    def origin(self, field: Field) -> Origin:
        return self.origins.get(field.path, DEFAULT)

    def value(self, field: Field) -> object:
        value: object = getattr(getattr(self.settings, field.section), field.key)
        return value


@dataclass(frozen=True, slots=True)
class _ParsedValue:
    value: object
    origin: Origin


def load(
    tree: type[TreeT], schema: Schema, readings: Sequence[Reading], read_secret: ReadSecret
) -> Loaded[TreeT]:
    """Combine the sources, weakest first; raises `SettingsError` with all problems."""
    problems = [problem for reading in readings for problem in reading.problems]
    values: dict[str, _ParsedValue] = {}
    for given in (one for reading in readings for one in reading.given):
        try:
            values[given.field.path] = _ParsedValue(
                value_of(given.field, given.text, read_secret), given.origin
            )
        except InvalidValue as error:
            problems.append(_invalid(given, error))
    sections = {name: _built(one, values, problems) for name, one in schema.sections.items()}
    if problems:
        raise SettingsError(problems)
    return Loaded(tree(**sections), schema, {path: one.origin for path, one in values.items()})


def _invalid(given: SourceValue, error: InvalidValue) -> Problem:
    return Problem(given.origin, f"{given.field.path}: {error}")


def _built(
    section: Section, values: Mapping[str, _ParsedValue], problems: list[Problem]
) -> msgspec.Struct | None:
    """Build one section; its `__post_init__` checks constraints between fields."""
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
