"""Answers of Dray to every user of the matrix: those that were recorded from Apache Kafka.

`python -m tests.api.authorization --record` records them again; `differences` has the deliberate differences.
"""

from pathlib import Path

import pytest

from dray.api.dispatch import SERVED
from tests.api.authorization.comparing import contradictions_of
from tests.api.authorization.differences import DIFFERENCES
from tests.api.authorization.golden_files import GOLDEN, path_of, read, written
from tests.api.authorization.playing import APIS, requests_of
from tests.api.authorization.users import ADMIN, DENIED, NAMES, PREFIX, REFUSED, USERS


@pytest.mark.parametrize("api", APIS)
def test_every_user_is_answered_as_by_kafka(api: str) -> None:
    found = list(contradictions_of(api))
    assert not [str(one) for one in found if not one.explained]
    used = frozenset().union(*(one.reasons for one in found))
    unused = {one for one in DIFFERENCES if one.is_about(api)} - used
    assert not unused, "these differences have gone; take them out"


def test_every_api_is_in_the_matrix() -> None:
    served = {one.api.name for one in SERVED.values()}
    assert set(APIS) == served, "an API that is served needs steps, and a recording"
    assert {path.stem for path in GOLDEN.glob("*.txt")} == served


@pytest.mark.parametrize("api", APIS)
def test_every_request_is_recorded(api: str) -> None:
    recorded = read(path_of(api).read_text())
    assert {(asked, user) for asked, by_user in recorded.items() for user in by_user} == {
        (asked, user) for _, asked, user in requests_of(api)
    }
    assert all(answer for by_user in recorded.values() for answer in by_user.values())


def test_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    text = path_of("Metadata").read_text()
    assert written(read(text)) == text


def test_refused_connections_are_answered_nothing() -> None:
    for api in set(APIS) - {"ApiVersions", "SaslHandshake", "SaslAuthenticate"}:
        recorded = read(path_of(api).read_text())
        refused = {by_user[user] for by_user in recorded.values() for user in REFUSED if user in by_user}
        assert refused == {("the connection is closed",)}


def test_every_right_is_given_exactly_by_prefix_and_denied_again() -> None:
    assert NAMES[-1] == ADMIN
    for user in USERS:
        for kind, operation in user.rights:
            acls = [one for one in user.acls() if (one.resource_type, one.operation) == (kind, operation)]
            if kind.name == "CLUSTER":
                continue
            assert {(one.resource_name, one.permission_type) for one in acls} >= {
                ("exact", 3),
                (PREFIX, 3),
                (DENIED, 2),
            }
