"""The layout of a message in one version, from the annotations of its class: fields, their order and kinds.

This is the only module that reads annotations, once for each class and version, on first use.
"""

from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from dray.wire.api import Message
from dray.wire.kinds import FIXED_BYTES, Kind, Versions, covers


@dataclass(frozen=True, slots=True)
class FieldSchema:
    """A field in one version. For an array, `kind` and `struct` describe the element."""

    name: str
    kind: Kind
    struct: type[Message] | None
    is_array: bool
    nullable: bool
    tag: int | None
    default: object

    def element(self) -> "FieldSchema":
        """Return the schema of this array's elements, which are never null."""
        return replace(self, is_array=False, nullable=False, tag=None)


@dataclass(frozen=True, slots=True)
class StructSchema:
    """A struct in one version."""

    struct: type[Message]
    version: int
    flexible: bool
    fields: tuple[FieldSchema, ...]
    tagged: tuple[FieldSchema, ...]
    # Not in this version, and not ignorable.
    forbidden: tuple[FieldSchema, ...]

    def nested(self, field: FieldSchema) -> "StructSchema":
        """Return the schema of the struct that `field` holds."""
        assert field.struct is not None
        return struct_schema(field.struct, self.version, flexible=self.flexible)

    def bytes_min(self) -> int:
        """Return the minimum encoded size of this struct."""
        return sum(self._field_bytes_min(field) for field in self.fields) + self.flexible

    def _field_bytes_min(self, field: FieldSchema) -> int:
        if field.kind is Kind.STRUCT and not field.is_array:
            return 1 if field.nullable else self.nested(field).bytes_min()
        if field.kind in FIXED_BYTES and not field.is_array:
            return FIXED_BYTES[field.kind]
        if self.flexible:
            return 1
        return 2 if field.kind is Kind.STRING and not field.is_array else 4


def struct_schema(struct: type[Message], version: int, *, flexible: bool) -> StructSchema:
    """Return the layout of `struct` in `version`."""
    defaults = struct()
    present: list[FieldSchema] = []
    forbidden: list[FieldSchema] = []
    for name in struct.__struct_fields__:
        hint, versions = _outer(_annotation(struct, name))
        field = _field(name, hint, versions, version, getattr(defaults, name))
        if covers(versions.span, version) and (flexible or versions.tag is None):
            present.append(field)
        elif not versions.ignorable:
            forbidden.append(field)
    tagged = sorted((field for field in present if field.tag is not None), key=_tag)
    return StructSchema(
        struct=struct,
        version=version,
        flexible=flexible,
        fields=tuple(field for field in present if field.tag is None),
        tagged=tuple(tagged),
        forbidden=tuple(forbidden),
    )


def _annotation(struct: type[Message], name: str) -> Any:  # noqa: ANN401 - a type form has no better type
    return struct.__annotations__[name]


def _tag(field: FieldSchema) -> int:
    assert field.tag is not None
    return field.tag


def _outer(hint: Any) -> tuple[Any, Versions]:  # noqa: ANN401
    """Split `Annotated[hint, Versions]`; a field without `Versions` is in all versions."""
    if get_origin(hint) is Annotated and isinstance(hint.__metadata__[-1], Versions):
        versions = hint.__metadata__[-1]
        rest = hint.__metadata__[:-1]
        return (Annotated[hint.__origin__, *rest] if rest else hint.__origin__), versions
    return hint, Versions()


def _field(name: str, hint: Any, versions: Versions, version: int, default: object) -> FieldSchema:  # noqa: ANN401
    inner, optional = _without_none(hint)
    is_array = get_origin(inner) is list
    kind, struct = _element(get_args(inner)[0] if is_array else inner)
    return FieldSchema(
        name=name,
        kind=kind,
        struct=struct,
        is_array=is_array,
        nullable=optional and covers(versions.nullable, version),
        tag=versions.tag,
        default=default,
    )


def _without_none(hint: Any) -> tuple[Any, bool]:  # noqa: ANN401
    if get_origin(hint) not in (Union, UnionType):
        return hint, False
    (inner,) = (part for part in get_args(hint) if part is not NoneType)
    return inner, True


def _element(hint: Any) -> tuple[Kind, type[Message] | None]:  # noqa: ANN401
    if get_origin(hint) is Annotated:
        kind = hint.__metadata__[0]
        assert isinstance(kind, Kind)
        return kind, None
    assert issubclass(hint, Message)
    return Kind.STRUCT, hint
