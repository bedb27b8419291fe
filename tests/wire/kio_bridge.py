"""Random kio messages and the same messages of ours, with kio as the oracle.

kio has one dataclass for each version and turns times, UUIDs and error codes into Python types.
"""

import dataclasses
import io
import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Any, get_args

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.serial._introspect import classify_field

from dray.wire import APIS, Api, Message
from dray.wire.kinds import Kind
from dray.wire.schema import FieldSchema, StructSchema, struct_schema

Case = tuple[Api, int, type[Message], type[Any]]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TEXTS = ["", "t", "orders", "naïve-тема-主題", "x" * 126, "x" * 127, "y" * 300]


def cases(*apis: Api) -> Iterator[Case]:
    """Return our class and kio's for requests and responses of all versions, of these APIs or of all."""
    for api in apis or APIS.values():
        for version in range(api.lowest, api.highest + 1):
            yield api, version, api.request, load_request_schema(api.key, version)
            yield api, version, api.response, load_response_schema(api.key, version)


def small_messages(chance: random.Random, items_max: int = 2) -> Iterator[tuple[Case, bytes]]:
    """Return one request and one response for every API and version, with its bytes."""
    for case in cases():
        yield case, kio_bytes(random_entity(case[3], chance, items_max))


def kio_bytes(entity: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def from_kio_bytes(entity_type: type[Any], data: bytes) -> Any:
    read: Any = entity_reader(entity_type)
    value, size = read(data, 0)
    assert size == len(data)
    return value


def random_entity(entity_type: type[Any], chance: random.Random, items_max: int) -> Any:
    """Return a random message of this type; arrays have up to `items_max` elements."""
    values = {
        field.name: _random_value(field, chance, items_max) for field in dataclasses.fields(entity_type)
    }
    return entity_type(**values)


def _random_value(field: "dataclasses.Field[Any]", chance: random.Random, items_max: int) -> Any:
    kafka_type = field.metadata.get("kafka_type")
    if field.default is not dataclasses.MISSING and chance.random() < 0.3:
        return field.default
    if NoneType in get_args(field.type) and chance.random() < 0.3:
        return None
    found = classify_field(field)
    if found.is_array:
        count = chance.randint(0, items_max)
        return tuple(_random_item(kafka_type, found.type_, chance, items_max) for _ in range(count))
    return _random_item(kafka_type, found.type_, chance, items_max)


def _random_item(kafka_type: str | None, item: Any, chance: random.Random, items_max: int) -> Any:
    if kafka_type is None:
        return random_entity(item, chance, max(1, items_max // 2))
    return _PRIMITIVES[kafka_type](chance)


def _integer(bits: int, *, signed: bool = True) -> Callable[[random.Random], int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return lambda chance: chance.choice([0, 1, low, high, chance.randint(low, high)])


_PRIMITIVES: Mapping[str, Callable[[random.Random], Any]] = {
    "bool": lambda chance: chance.random() < 0.5,
    "bytes": lambda chance: chance.randbytes(chance.choice([0, 1, 126, 127, 400])),
    "datetime_i64": lambda chance: _EPOCH + timedelta(seconds=chance.randint(0, 2**31)),
    "error_code": lambda chance: chance.choice(list(ErrorCode)),
    "float64": lambda chance: chance.choice([0.0, -1.5, chance.random() * 1e300]),
    "int8": _integer(8),
    "int16": _integer(16),
    "int32": _integer(32),
    "int64": _integer(64),
    "records": lambda chance: chance.randbytes(chance.choice([0, 61, 127, 20_000])),
    "string": lambda chance: chance.choice(_TEXTS),
    "timedelta_i32": lambda chance: timedelta(milliseconds=_integer(32)(chance)),
    "timedelta_i64": lambda chance: timedelta(milliseconds=chance.randint(-1, 2**40)),
    "uint16": _integer(16, signed=False),
    "uuid": lambda chance: uuid.UUID(bytes=chance.randbytes(16)),
}


def to_ours(entity: Any, message: type[Message]) -> Message:
    """Return the same message in our class; fields that kio's version lacks have their defaults."""
    schema = struct_schema(message, entity.__version__, flexible=entity.__flexible__)
    return message(**dict(_our_fields(entity, schema)))


def _our_fields(entity: Any, schema: StructSchema) -> Iterator[tuple[str, Any]]:
    ours = {field.name: field for field in (*schema.fields, *schema.tagged)}
    theirs = dataclasses.fields(entity)
    assert len(ours) == len(theirs), (schema.struct, list(ours), [field.name for field in theirs])
    for field in theirs:
        name = field.name if field.name in ours else f"{field.name}_ms"
        value = getattr(entity, field.name)
        if ours[name].is_array and value is not None:
            yield name, [_our_value(item, ours[name]) for item in value]
        else:
            yield name, _our_value(value, ours[name])


def _our_value(value: Any, ours: FieldSchema) -> Any:
    if value is None:
        return {Kind.UUID: bytes(16), Kind.INT64: -1}.get(ours.kind)
    if ours.kind is Kind.STRUCT:
        assert ours.struct is not None
        return to_ours(value, ours.struct)
    if ours.kind is Kind.RECORDS_VIEW:
        return memoryview(value)
    if ours.kind is Kind.RECORDS_PARTS:
        return [memoryview(value)] if value else []
    return _plain(value)


def _plain(value: Any) -> Any:
    match value:
        case timedelta():
            return value // timedelta(milliseconds=1)
        case datetime():
            return (value - _EPOCH) // timedelta(milliseconds=1)
        case uuid.UUID():
            return value.bytes
        case ErrorCode():
            return int(value)
        case _:
            return value


def joined(buffers: list[Any]) -> bytes:
    return b"".join(buffers)
