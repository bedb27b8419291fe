"""Minimum encoded sizes, which array counts are checked against."""

from collections.abc import Iterator
from typing import Any

import pytest

from dray.wire import APIS, Api, Message
from dray.wire.compiled import decoder, encoder
from dray.wire.kinds import Kind
from dray.wire.schema import StructSchema, struct_schema
from tests.wire.kio_bridge import joined


def smallest(schema: StructSchema) -> Message:
    values: dict[str, Any] = {}
    for field in schema.fields:
        if field.nullable:
            values[field.name] = None
        elif field.kind is Kind.STRUCT and not field.is_array:
            values[field.name] = smallest(schema.nested(field))
        elif field.kind is Kind.STRING and not field.is_array:
            values[field.name] = ""
    return schema.struct(**values)


def structs(schema: StructSchema) -> Iterator[StructSchema]:
    yield schema
    for field in (*schema.fields, *schema.tagged):
        if field.struct is not None:
            yield from structs(schema.nested(field))


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_minimum_size_of_a_struct_is_exact(api: Api) -> None:
    for message in (api.request, api.response):
        for version in range(api.lowest, api.highest + 1):
            flexible = api.is_flexible(version)
            for schema in structs(struct_schema(message, version, flexible=flexible)):
                data = joined(
                    encoder(schema.struct, version, flexible=flexible)(smallest(schema), bytearray())
                )
                assert len(data) == schema.bytes_min()
                assert decoder(schema.struct, version, flexible=flexible)(memoryview(data), 0)[1] == len(data)
