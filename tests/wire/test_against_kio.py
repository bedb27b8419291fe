"""Requests and responses of every API and version have the same bytes and values in kio."""

import random

import pytest
from kio.schema.index import api_key_map, schema_name_map
from kio.schema.request_header.v1 import RequestHeader as KioRequestHeaderV1
from kio.schema.request_header.v2 import RequestHeader as KioRequestHeaderV2
from kio.schema.response_header.v0 import ResponseHeader as KioResponseHeaderV0
from kio.schema.response_header.v1 import ResponseHeader as KioResponseHeaderV1
from kio.static.primitive import i16, i32

from dray.wire import (
    APIS,
    Api,
    RequestHeader,
    decode_body,
    decode_request,
    decode_response,
    encode_body,
    encode_request,
    encode_response,
)
from scripts.wire_kio import NOT_FOR_CLIENTS
from tests.wire.kio_bridge import cases, from_kio_bytes, joined, kio_bytes, random_entity, to_ours

ROUNDS = 6


def test_all_client_apis_and_versions_of_kio_are_known() -> None:
    theirs = {key: sorted(schema_name_map[name]) for key, name in api_key_map.items()}
    ours = {api.key: list(range(api.lowest, api.highest + 1)) for api in APIS.values()}
    assert ours == {key: versions for key, versions in theirs.items() if key not in NOT_FOR_CLIENTS}
    assert len(ours) == 70


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_bytes_and_values_are_those_of_kio(api: Api) -> None:
    checked = 0
    for _, version, message, entity_type in cases(api):
        for seed in range(ROUNDS):
            chance = random.Random(f"{message.__name__} {version} {seed}")
            entity = random_entity(entity_type, chance, items_max=seed)
            data, ours = kio_bytes(entity), to_ours(entity, message)
            encoded = joined(encode_body(api, version, ours))
            assert encoded == data
            assert decode_body(api, message, version, data) == (ours, len(data))
            assert from_kio_bytes(entity_type, encoded) == entity
            checked += 1
    assert checked == 2 * ROUNDS * (api.highest - api.lowest + 1)


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_headers_are_those_of_kio(api: Api) -> None:
    for _, version, message, entity_type in cases(api):
        entity = random_entity(entity_type, random.Random(version), items_max=1)
        header_type = entity_type.__header_schema__
        if message is api.request:
            header = _kio_request_header(header_type, api.key, version)
            frame = kio_bytes(header) + kio_bytes(entity)
            ours = RequestHeader(api.key, version, 77, "client")
            assert joined(encode_request(api, ours, to_ours(entity, message)))[4:] == frame
            assert decode_request(frame) == (ours, to_ours(entity, message))
        else:
            frame = kio_bytes(header_type(correlation_id=i32(77))) + kio_bytes(entity)
            assert joined(encode_response(api, version, 77, to_ours(entity, message)))[4:] == frame
            assert decode_response(api, version, frame) == (77, to_ours(entity, message))


def _kio_request_header(
    header_type: type[KioRequestHeaderV1 | KioRequestHeaderV2], key: int, version: int
) -> KioRequestHeaderV1 | KioRequestHeaderV2:
    return header_type(
        request_api_key=i16(key),
        request_api_version=i16(version),
        correlation_id=i32(77),
        client_id="client",
    )


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_header_versions_are_those_of_kio(api: Api) -> None:
    requests = {KioRequestHeaderV1: 1, KioRequestHeaderV2: 2}
    responses = {KioResponseHeaderV0: 0, KioResponseHeaderV1: 1}
    for _, version, message, entity_type in cases(api):
        header = entity_type.__header_schema__
        if message is api.request:
            assert requests[header] == (2 if api.is_flexible(version) else 1)
        else:
            assert api.response_header_version(version) == responses[header]
        assert api.is_flexible(version) == entity_type.__flexible__
