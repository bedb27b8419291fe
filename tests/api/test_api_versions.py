"""ApiVersions over a real socket: what is advertised, to whom, and the answer to versions from the future."""

import struct

import pytest

from dray.api.dispatch import SERVED
from dray.wire import ErrorCode as E
from dray.wire.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.oracle.asking import Asker, frame_of

TELEMETRY = {71, 72}


def plain(name: str = "a-client", version: str = "1.2.3") -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)


@pytest.mark.parametrize("version", range(5))
def test_what_is_served_is_advertised_and_nothing_else(asker: Asker, version: int) -> None:
    came = asker.ask(plain(), ApiVersionsResponse, version)
    ranges = {one.api_key: (one.min_version, one.max_version) for one in came.api_keys}
    assert came.error_code == E.NONE
    assert ranges.keys() == SERVED.keys()
    assert ranges[0] == (0, 13), "old librdkafka compresses only if Produce 0 is there"
    assert not ranges.keys() & TELEMETRY
    served = {key: (one.lowest, one.highest) for key, one in SERVED.items() if key != 0}
    assert served.items() <= ranges.items()


@pytest.mark.parametrize("version", [3, 4])
def test_the_answers_header_has_no_tags_even_in_flexible_versions(asker: Asker, version: int) -> None:
    came = asker.exchange(frame_of(plain(), version))
    correlation, error, keys = struct.unpack_from(">ihB", came)
    assert (correlation, error, keys) == (77, E.NONE, len(SERVED) + 1)


@pytest.mark.parametrize("version", [5, 99, -1])
@pytest.mark.parametrize("rest", [b"\x00", b"\x00rubbish"])
def test_a_version_that_is_not_served_is_answered_in_version_0(
    asker: Asker, version: int, rest: bytes
) -> None:
    came = asker.exchange(struct.pack(">hhih", 18, version, 5, -1) + rest)
    assert struct.unpack(">ihihhh", came) == (5, E.UNSUPPORTED_VERSION, 1, 18, 0, 4)
    assert asker.ask(plain(), ApiVersionsResponse).error_code == E.NONE, "the connection goes on"


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("bad", ["", "-x", "x-", ".x", "a b", "é", "a_b"])
def test_software_names_are_checked(asker: Asker, version: int, bad: str) -> None:
    for request in (plain(name=bad), plain(version=bad)):
        came = asker.ask(request, ApiVersionsResponse, version)
        assert (came.error_code, came.api_keys) == (E.INVALID_REQUEST, [])
    assert asker.ask(plain("a.b-c", "x"), ApiVersionsResponse, version).error_code == E.NONE


def test_features_that_may_be_off_are_kept_from_older_clients(asker: Asker) -> None:
    told = {
        version: asker.ask(plain(), ApiVersionsResponse, version).supported_features for version in (3, 4)
    }
    assert told[3] == []
    assert [(one.name, one.min_version) for one in told[4]] == [("group.version", 0)]
