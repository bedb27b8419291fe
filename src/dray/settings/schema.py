"""The schema of the settings, derived from the packages' Structs.

A tree is a Struct whose fields are *sections*; a section is a Struct whose fields are single values. Each
field defines its key, environment variable, flag, allowed values and description; nothing is declared twice.
A field may add to that in `Meta(extra=…)`: `flag` names its own command-line flag, and `allowed` replaces the
generated text on allowed values.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_type_hints

import msgspec
from msgspec import inspect as shapes
from msgspec import structs

from dray.settings.quantities import Unit, unit_of, written
from dray.settings.secret import MASK, Secret

Kind = Literal["text", "integer", "number", "size", "duration", "boolean", "choice", "secret"]

_LARGEST: Final[Mapping[Kind, int]] = {"integer": 2**31 - 1, "size": 1 << 50, "duration": 3650 * 86_400_000}
"""Upper bounds of fields that declare none: what C libraries, timers and the wire protocol can hold."""
_FILE: Final = "_file"
_KIND_OF_UNIT: Final[Mapping[Unit, Kind]] = {"bytes": "size", "ms": "duration"}


@dataclass(frozen=True, slots=True)
class Field:
    """One setting."""

    section: str
    key: str
    kind: Kind
    annotation: Any
    optional: bool
    required: bool
    default: Any
    largest: int | None
    """Upper bound of a whole number."""
    allowed: str
    description: str
    flag: str | None

    @property
    def path(self) -> str:
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        return f"DRAY_{self.section}_{self.key}".upper()

    def shown(self, value: object) -> str:
        """Return the canonical text of a value, with secrets masked; empty if it is not set."""
        if value is None:
            return ""
        if self.kind == "secret":
            return MASK
        unit = unit_of(self.key)
        if unit is not None and isinstance(value, int):
            return written(value, unit)
        return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Target:
    """What a key of a source sets: a setting, or for a secret the file to read it from."""

    field: Field
    is_file: bool = False

    @property
    def variable(self) -> str:
        return f"{self.field.variable}_FILE" if self.is_file else self.field.variable

    @property
    def path(self) -> str:
        return f"{self.field.path}_file" if self.is_file else self.field.path


@dataclass(frozen=True, slots=True)
class Section:
    """The settings of one package."""

    name: str
    struct: type[msgspec.Struct]
    intro: str
    fields: Mapping[str, Field]

    def may_be_in_file(self, field: Field) -> bool:
        """Return whether `KEY_file` names a file with the field: not if that is a setting of its own."""
        return field.kind == "secret" and f"{field.key}{_FILE}" not in self.fields

    def target(self, key: str) -> Target | None:
        """Return what a key sets; `password_file` stands for the file of the secret `password`."""
        if key in self.fields:
            return Target(self.fields[key])
        secret = self.fields.get(key.removesuffix(_FILE)) if key.endswith(_FILE) else None
        return Target(secret, is_file=True) if secret is not None and secret.kind == "secret" else None


@dataclass(frozen=True, slots=True)
class Schema:
    """All sections of a tree."""

    sections: Mapping[str, Section]

    def fields(self) -> Iterator[Field]:
        for section in self.sections.values():
            yield from section.fields.values()

    def targets(self) -> Iterator[Target]:
        """Return everything that a source may set."""
        for field in self.fields():
            yield Target(field)
            if self.sections[field.section].may_be_in_file(field):
                yield Target(field, is_file=True)

    def find(self, path: str) -> Field | None:
        section, _, key = path.partition(".")
        return self.sections[section].fields.get(key) if section in self.sections else None

    def target(self, path: str) -> Target | None:
        """Return what `SECTION.KEY` sets."""
        section, _, key = path.partition(".")
        return self.sections[section].target(key) if section in self.sections else None


def schema_of(tree: type[msgspec.Struct]) -> Schema:
    """Derive the schema of a tree; raises `TypeError` for types that a settings file cannot express."""
    hints = get_type_hints(tree)
    return Schema({name: _section(name, hints[name]) for name in tree.__struct_fields__})


def _section(name: str, struct: type[msgspec.Struct]) -> Section:
    info = shapes.type_info(struct)
    if not isinstance(info, shapes.StructType):
        raise TypeError(f"section {name} is not a Struct")
    hints = get_type_hints(struct, include_extras=True)
    fields = {field.name: _field(name, field, hints[field.name]) for field in info.fields}
    return Section(name, struct, inspect.getdoc(struct) or "", fields)


def _field(section: str, field: shapes.Field, annotation: object) -> Field:
    shape, description, extra = _unwrapped(field.type)
    shape, optional = _without_none(shape)
    shape, inner, more = _unwrapped(shape)
    extra = extra | more
    kind = _kind(field.name, shape)
    shape = _bounded(kind, shape)
    return Field(
        section=section,
        key=field.name,
        kind=kind,
        annotation=annotation,
        optional=optional,
        required=field.required,
        default=None if field.required else field.default,
        largest=shape.le if isinstance(shape, shapes.IntType) else None,
        allowed=extra.get("allowed") or _allowed(kind, shape),
        description=description or inner,
        flag=extra.get("flag"),
    )


def _bounded(kind: Kind, shape: shapes.Type) -> shapes.Type:
    if isinstance(shape, shapes.IntType) and shape.le is None:
        return structs.replace(shape, le=_LARGEST[kind] if shape.lt is None else shape.lt - 1)
    return shape


def _unwrapped(shape: shapes.Type) -> tuple[shapes.Type, str, dict[str, Any]]:
    if not isinstance(shape, shapes.Metadata):
        return shape, "", {}
    description = (shape.extra_json_schema or {}).get("description", "")
    return shape.type, str(description), dict(shape.extra or {})


def _without_none(shape: shapes.Type) -> tuple[shapes.Type, bool]:
    if not isinstance(shape, shapes.UnionType):
        return shape, False
    others = [one for one in shape.types if not isinstance(one, shapes.NoneType)]
    if len(others) != 1:
        raise TypeError(f"a setting has one type, or one type and None, not {shape}")
    return others[0], True


def _kind(key: str, shape: shapes.Type) -> Kind:
    match shape:
        case shapes.IntType():
            unit = unit_of(key)
            return "integer" if unit is None else _KIND_OF_UNIT[unit]
        case shapes.StrType():
            return "text"
        case shapes.BoolType():
            return "boolean"
        case shapes.FloatType():
            return "number"
        case shapes.LiteralType(values) if all(isinstance(value, str) for value in values):
            return "choice"
        case shapes.CustomType(cls) if cls is Secret:
            return "secret"
    raise TypeError(f"{key}: a setting cannot be a {shape}")


def _allowed(kind: Kind, shape: shapes.Type) -> str:
    match kind:
        case "secret":
            return "the secret, or file:PATH to read it from; not as a flag"
        case "boolean":
            return "true or false"
        case "size":
            return "a size such as 8MiB, or a number of bytes" + _bounds(shape, "bytes")
        case "duration":
            return "a duration such as 500ms, 5s or 10m, or a number of milliseconds" + _bounds(shape, "ms")
        case _:
            return _allowed_plain(kind, shape)


def _allowed_plain(kind: Kind, shape: shapes.Type) -> str:
    match shape:
        case shapes.LiteralType(values):
            *others, last = map(str, values)
            return f"{', '.join(others)} or {last}" if others else last
        case shapes.StrType(pattern=str() as pattern):
            return f"text that matches {pattern}"
    return kind + _bounds(shape, None)


def _bounds(shape: shapes.Type, unit: Unit | None) -> str:
    if not isinstance(shape, shapes.IntType | shapes.FloatType):
        return ""
    if shape.ge is not None and shape.le is not None:
        return f", {_limit(shape.ge, unit)} to {_limit(shape.le, unit)}"
    words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    limits = {word: getattr(shape, name) for name, word in words.items()}
    bounds = [f"{word} {_limit(value, unit)}" for word, value in limits.items() if value is not None]
    return ", " + " and ".join(bounds) if bounds else ""


def _limit(value: float, unit: Unit | None) -> str:
    return written(value, unit) if unit is not None and isinstance(value, int) else str(value)
