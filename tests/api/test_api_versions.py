"""ApiVersions: advertised versions and features, and responses to unsupported versions."""

import struct

import pytest

from dray.api.dispatch import SERVED
from dray.wire import ErrorCode as E
from dray.wire.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.oracle.request_client import RequestClient, frame_of

TELEMETRY = {71, 72}


def plain(name: str = "a-client", version: str = "1.2.3") -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)


@pytest.mark.parametrize("version", range(5))
def test_exactly_the_served_apis_are_advertised(client: RequestClient, version: int) -> None:
    reply = client.send(plain(), ApiVersionsResponse, version)
    ranges = {one.api_key: (one.min_version, one.max_version) for one in reply.api_keys}
    assert reply.error_code == E.NONE
    assert ranges.keys() == SERVED.keys()
    assert ranges[0] == (0, 13), "old librdkafka compresses only if Produce 0 is there"
    assert not ranges.keys() & TELEMETRY
    served = {key: (one.lowest, one.highest) for key, one in SERVED.items() if key != 0}
    assert served.items() <= ranges.items()


@pytest.mark.parametrize("version", [3, 4])
def test_response_header_has_no_tags_even_in_flexible_versions(client: RequestClient, version: int) -> None:
    reply = client.exchange(frame_of(plain(), version))
    correlation, error, keys = struct.unpack_from(">ihB", reply)
    assert (correlation, error, keys) == (77, E.NONE, len(SERVED) + 1)


@pytest.mark.parametrize("version", [5, 99, -1])
@pytest.mark.parametrize("rest", [b"\x00", b"\x00rubbish"])
def test_unsupported_version_is_answered_in_version_0(
    client: RequestClient, version: int, rest: bytes
) -> None:
    reply = client.exchange(struct.pack(">hhih", 18, version, 5, -1) + rest)
    assert struct.unpack(">ihihhh", reply) == (5, E.UNSUPPORTED_VERSION, 1, 18, 0, 4)
    assert client.send(plain(), ApiVersionsResponse).error_code == E.NONE, "the connection stays open"


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("bad", ["", "-x", "x-", ".x", "a b", "é", "a_b"])
def test_client_software_names_are_validated(client: RequestClient, version: int, bad: str) -> None:
    for request in (plain(name=bad), plain(version=bad)):
        reply = client.send(request, ApiVersionsResponse, version)
        assert (reply.error_code, reply.api_keys) == (E.INVALID_REQUEST, [])
    assert client.send(plain("a.b-c", "x"), ApiVersionsResponse, version).error_code == E.NONE


def test_features_with_minimum_version_0_are_hidden_from_older_clients(client: RequestClient) -> None:
    response = {
        version: client.send(plain(), ApiVersionsResponse, version).supported_features for version in (3, 4)
    }
    assert response[3] == []
    assert [(one.name, one.min_version) for one in response[4]] == [("group.version", 0)]
