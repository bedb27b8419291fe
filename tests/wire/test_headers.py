"""Headers, frames and the table of APIs."""

import struct

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode

from dray.wire import (
    APIS,
    BadFrame,
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
    frame_length,
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
def test_a_request_header_comes_back(version: int, client_id: str | None) -> None:
    frame = request(version, client_id)
    assert frame_length(frame[:4]) == len(frame) - 4
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
def test_a_header_cut_short_anywhere_is_truncated(version: int) -> None:
    frame = request(version, "client")[4:]
    body_bytes = 7 if version == 8 else 5
    for size in range(len(frame) - body_bytes):
        with pytest.raises(Truncated, match="header"):
            decode_request(frame[:size])
    for size in range(5 if version == 9 else 4):
        with pytest.raises(Truncated, match="header"):
            decode_response(METADATA, version, bytes(size))


def test_an_answer_to_api_versions_has_the_old_header_in_all_versions() -> None:
    response = ApiVersionsResponse(api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)])
    for version in range(5):
        data = joined(encode_response(API_VERSIONS, version, 5, response))
        assert data[4:10] == struct.pack(">ih", 5, 0)
        assert decode_response(API_VERSIONS, version, data[4:]) == (5, response)
    header = RequestHeader(18, 3, 5, None)
    data = joined(encode_request(API_VERSIONS, header, ApiVersionsRequest()))
    assert data[4:] == struct.pack(">hhih", 18, 3, 5, -1) + b"\0\1\1\0"


def test_unknown_apis_and_versions_are_told_apart() -> None:
    with pytest.raises(UnknownApi, match="API key 4 is not known"):
        decode_request(struct.pack(">hhih", 4, 0, 1, -1))
    with pytest.raises(UnknownVersion, match="ApiVersions has versions 0 to 4, not 5"):
        decode_request(struct.pack(">hhih", 18, 5, 1, -1))
    with pytest.raises(UnknownVersion):
        encode_response(API_VERSIONS, 5, 1, ApiVersionsResponse())


@pytest.mark.parametrize("length", [-1, 0, 7, 101])
def test_absurd_frames(length: int) -> None:
    with pytest.raises(BadFrame, match=f"a frame of {length} bytes; it must have 8 to 100"):
        frame_length(struct.pack(">i", length), bytes_max=100)


def test_sane_frames() -> None:
    assert [frame_length(struct.pack(">i", length), bytes_max=100) for length in (8, 100)] == [8, 100]
    assert frame_length(struct.pack(">i", 100 * 1024 * 1024)) == 104_857_600
    with pytest.raises(BadFrame):
        frame_length(b"\0\0\0")


def test_the_table_is_by_key() -> None:
    assert all(api_of(key) is api and api.key == key for key, api in APIS.items())
    assert (APIS[0].name, APIS[0].lowest, APIS[0].highest, APIS[0].flexible_from) == ("Produce", 3, 13, 9)
    assert {api.name for api in APIS.values() if api.flexible_from is None} == {
        "SaslHandshake",
        "OffsetDelete",
    }


def test_error_codes_are_kios() -> None:
    assert {(int(code), code.name.lower(), code.retriable) for code in ErrorCode} == {
        (int(code), code.name, code.retriable) for code in KioErrorCode
    }
    assert int(ErrorCode.NONE) == 0
