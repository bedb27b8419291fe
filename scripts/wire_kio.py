"""Models of messages with the fields of all versions, from kio's schemas with a dataclass for each version.

kio turns times into `timedelta` and `datetime` and drops `_ms` from their names; here they are numbers of
milliseconds again, under the protocol's own names.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import IntEnum
from types import NoneType
from typing import Any, Final, get_args

from kio.index import load_request_schema, load_response_schema
from kio.schema.index import api_key_map, schema_name_map
from kio.serial import _introspect as introspect

from scripts.wire_supplement import IGNORABLE, NULL_BY_DEFAULT

# Used only between brokers and controllers.
NOT_FOR_CLIENTS: Final = {52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 80, 81, 82, 83, 84, 85, 86, 87}

TYPES: Final[Mapping[str, str]] = {
    "bool": "Bool",
    "bytes": "Bytes",
    "datetime_i64": "Int64",
    "error_code": "Int16",
    "float64": "Float64",
    "int8": "Int8",
    "int16": "Int16",
    "int32": "Int32",
    "int64": "Int64",
    "string": "String",
    "timedelta_i32": "Int32",
    "timedelta_i64": "Int64",
    "uint16": "UInt16",
    "uuid": "Uuid",
}
# kio says None for a zero UUID and for time -1; on the wire there is no null.
NEVER_NULL: Final = {"datetime_i64", "timedelta_i32", "timedelta_i64", "uuid"}
DEFAULTS: Final[Mapping[str, str]] = {
    "Bool": "False",
    "Bytes": 'b""',
    "Float64": "0.0",
    "RecordsParts": "None",
    "RecordsView": "None",
    "String": '""',
    "Uuid": "ZERO_UUID",
}


@dataclasses.dataclass(slots=True)
class FieldModel:
    """A field, with the versions that have it."""

    name: str
    type_name: str
    is_array: bool
    default: str
    tag: int | None
    ignorable: bool
    versions: list[int] = dataclasses.field(default_factory=list)
    nullable: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class StructModel:
    """A message or a struct in one, with the fields of all versions in wire order."""

    name: str
    fields: list[FieldModel] = dataclasses.field(default_factory=list)
    versions: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class ApiModel:
    """One API; the structs of a message come before those that hold them, the message itself last."""

    key: int
    module: str
    name: str
    versions: list[int]
    flexible_from: int | None
    request: list[StructModel]
    response: list[StructModel]


def read_apis() -> Iterator[ApiModel]:
    """Yield the APIs that clients speak, by key."""
    for key, module in sorted(api_key_map.items()):
        if key not in NOT_FOR_CLIENTS:
            yield _api(key, module)


def _api(key: int, module: str) -> ApiModel:
    versions = sorted(schema_name_map[module])
    requests = {version: load_request_schema(key, version) for version in versions}
    responses = {version: load_response_schema(key, version) for version in versions}
    request, response = _Reader("RecordsView"), _Reader("RecordsParts")
    for version in reversed(versions):
        request.read(requests[version], version)
        response.read(responses[version], version)
    return ApiModel(
        key=key,
        module=module,
        name=requests[versions[0]].__name__.removesuffix("Request"),
        versions=versions,
        flexible_from=next((v for v in versions if requests[v].__flexible__), None),
        request=request.finished(),
        response=response.finished(),
    )


class _Reader:
    """Merges the versions of one message, newest first."""

    def __init__(self, records: str) -> None:
        self._records = records
        self._structs: dict[str, StructModel] = {}
        self._message = ""
        self._orders: list[tuple[str, list[str]]] = []

    def read(self, entity: type[Any], version: int) -> None:
        self._message = entity.__name__
        self._struct(entity, version)

    def finished(self) -> list[StructModel]:
        for struct in self._structs.values():
            for field in struct.fields:
                field.versions.sort()
                field.nullable.sort()
            struct.versions.sort()
        for name, order in self._orders:
            merged = [field.name for field in self._structs[name].fields if field.name in order]
            assert merged == order, f"{self._message}.{name}: no one order of fields fits all versions"
        return list(self._inside_out(self._structs[self._message]))

    def _inside_out(self, struct: StructModel) -> Iterator[StructModel]:
        """Yield each struct once, after those that it holds."""
        seen: set[str] = set()
        for field in struct.fields:
            for inner in (
                self._inside_out(self._structs[field.type_name]) if field.type_name in self._structs else ()
            ):
                if inner.name not in seen:
                    seen.add(inner.name)
                    yield inner
        yield struct

    def _struct(self, entity: type[Any], version: int) -> None:
        name = entity.__name__
        fields = dataclasses.fields(entity)
        for field in fields:
            inner = introspect.classify_field(field).type_
            if dataclasses.is_dataclass(inner):
                assert isinstance(inner, type)
                self._struct(inner, version)
        struct = self._structs.setdefault(name, StructModel(name))
        if version in struct.versions:
            return
        struct.versions.append(version)
        self._orders.append((name, [_plain_name(field) for field in fields]))
        for place, field in enumerate(fields):
            before = _plain_name(fields[place - 1]) if place else None
            self._merge(struct, field, before, version)

    def _merge(
        self, struct: StructModel, field: "dataclasses.Field[Any]", before: str | None, version: int
    ) -> None:
        names = [known.name for known in struct.fields]
        name = _plain_name(field)
        if name not in names:
            struct.fields.insert(names.index(before) + 1 if before else 0, self._field(struct, field))
        known = next(known for known in struct.fields if known.name == name)
        assert known.tag == field.metadata.get("tag")
        known.versions.append(version)
        if _is_nullable(field):
            known.nullable.append(version)

    def _field(self, struct: StructModel, field: "dataclasses.Field[Any]") -> FieldModel:
        found = introspect.classify_field(field)
        kafka_type = field.metadata.get("kafka_type")
        type_name = self._records if kafka_type == "records" else TYPES.get(str(kafka_type))
        type_name = type_name or found.type_.__name__
        owner = struct.name if struct.name == self._message else f"{self._message}.{struct.name}"
        name = _plain_name(field)
        null_by_default = name in NULL_BY_DEFAULT.get(owner, "").split()
        return FieldModel(
            name=name,
            type_name=type_name,
            is_array=found.is_array,
            default="None" if null_by_default else _default(field, type_name, is_array=found.is_array),
            tag=field.metadata.get("tag"),
            ignorable=name in IGNORABLE.get(owner, "").split(),
        )


def _plain_name(field: "dataclasses.Field[Any]") -> str:
    timed = str(field.metadata.get("kafka_type")).startswith(("timedelta", "datetime"))
    return f"{field.name}_ms" if timed else field.name


def _is_nullable(field: "dataclasses.Field[Any]") -> bool:
    never = field.metadata.get("kafka_type") in NEVER_NULL
    return not never and NoneType in get_args(field.type)


def _default(field: "dataclasses.Field[Any]", type_name: str, *, is_array: bool) -> str:
    if field.default is None:
        return {"Uuid": "ZERO_UUID", "Int64": "-1"}.get(type_name, "None")
    if is_array:
        return "[]"
    if field.metadata.get("kafka_type") is None:
        return f"{type_name}()"
    if field.default is dataclasses.MISSING:
        return DEFAULTS.get(type_name, "0")
    return _literal(field.default)


def _literal(value: object) -> str:
    if isinstance(value, timedelta):
        return str(value // timedelta(milliseconds=1))
    if isinstance(value, str):
        return f'"{value}"'
    return str(int(value)) if isinstance(value, IntEnum) else repr(value)
