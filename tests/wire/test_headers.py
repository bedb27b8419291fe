"""Headers, and lookup of APIs by key."""

import struct

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode

from dray.wire import (
    APIS,
    ErrorCode,
    RequestHeader,
    Truncated,
    UnknownApi,
    UnknownVersion,
    api_of,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    peek,
)
from dray.wire.apis.api_versions import API_VERSIONS, ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from dray.wire.apis.metadata import METADATA, MetadataRequest, MetadataResponse
from tests.wire.kio_bridge import joined


def request(version: int, client_id: str | None) -> bytes:
    header = RequestHeader(METADATA.key, version, 5, client_id)
    return joined(encode_request(METADATA, header, MetadataRequest()))


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("client_id", [None, "", "кафка", "x" * 300])
def test_request_header_survives_encoding_and_decoding(version: int, client_id: str | None) -> None:
    frame = request(version, client_id)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert peek(frame[4:]) == (3, version, 5)
    assert decode_request(frame[4:]) == (RequestHeader(3, version, 5, client_id), MetadataRequest())


def test_unknown_tags_in_headers_are_skipped() -> None:
    frame = bytearray(request(9, "c")[4:])
    assert frame[11:12] == b"\0"
    frame[11:12] = b"\1\7\3abc"
    assert decode_request(frame)[0].client_id == "c"
    response = bytearray(joined(encode_response(METADATA, 9, 5, MetadataResponse()))[4:])
    response[4:5] = b"\1\7\3abc"
    assert decode_response(METADATA, 9, response) == (5, MetadataResponse())


@pytest.mark.parametrize("version", [8, 9])
def test_truncated_header_raises_truncated(version: int) -> None:
    frame = request(version, "client")[4:]
    body_bytes = 7 if version == 8 else 5
    for size in range(len(frame) - body_bytes):
        with pytest.raises(Truncated, match="header"):
            decode_request(frame[:size])
    for size in range(5 if version == 9 else 4):
        with pytest.raises(Truncated, match="header"):
            decode_response(METADATA, version, bytes(size))


def test_response_to_api_versions_has_header_0_in_all_versions() -> None:
    response = ApiVersionsResponse(api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)])
    for version in range(5):
        data = joined(encode_response(API_VERSIONS, version, 5, response))
        assert data[4:10] == struct.pack(">ih", 5, 0)
        assert decode_response(API_VERSIONS, version, data[4:]) == (5, response)
    header = RequestHeader(18, 3, 5, None)
    data = joined(encode_request(API_VERSIONS, header, ApiVersionsRequest()))
    assert data[4:] == struct.pack(">hhih", 18, 3, 5, -1) + b"\0\1\1\0"


def test_unknown_apis_and_unknown_versions_raise_different_errors() -> None:
    with pytest.raises(UnknownApi, match="unknown API key 4"):
        decode_request(struct.pack(">hhih", 4, 0, 1, -1))
    with pytest.raises(UnknownVersion, match="ApiVersions has versions 0 to 4, not 5"):
        decode_request(struct.pack(">hhih", 18, 5, 1, -1))
    with pytest.raises(UnknownVersion):
        encode_response(API_VERSIONS, 5, 1, ApiVersionsResponse())


def test_apis_are_found_by_key() -> None:
    assert all(api_of(key) is api and api.key == key for key, api in APIS.items())
    assert (APIS[0].name, APIS[0].lowest, APIS[0].highest, APIS[0].flexible_from) == ("Produce", 3, 13, 9)
    assert {api.name for api in APIS.values() if api.flexible_from is None} == {
        "SaslHandshake",
        "OffsetDelete",
    }


def test_error_codes_are_those_of_kio() -> None:
    assert {(int(code), code.name.lower()) for code in ErrorCode} == {
        (int(code), code.name) for code in KioErrorCode
    }
    assert int(ErrorCode.NONE) == 0
