"""HTTP endpoints that are not on loopback: users by password or token, and what stays open."""

import base64

import pytest

from dray.console.access import UserAccess
from dray.ids import Principal
from dray.sasl import Claims, InvalidToken
from dray.testing.virtual_loop import run, virtual_loop
from tests.net.gates import PASSWORD, authenticator

ALICE = Principal.user("alice")
HOST = "10.0.0.7"


def basic(user: str, password: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{user}:{password}".encode())


async def verified(token: str, now_ms: int) -> Claims | InvalidToken:
    return Claims("alice", now_ms + 1) if token == "good" else InvalidToken("unknown")


def status(
    authorization: bytes | None, path: str = "/metrics", *, has_users: bool = True
) -> tuple[int | None, float]:
    """Return the status of a refusal, None if there is none, and the time it took."""

    failures: list[str] = []

    async def main() -> tuple[int | None, float]:
        access = UserAccess(
            authenticator(verify_token=verified) if has_users else None,
            lambda principal, host: (principal, host) == (ALICE, HOST),
            delay_s=0.1,
            failed=failures.append,
        )
        began = virtual_loop().time()
        headers = {} if authorization is None else {b"authorization": authorization}
        refused = await access.refusal(path, headers, HOST)
        assert failures == ([HOST] if virtual_loop().time() > began else []), (
            "late answers are of failed logins"
        )
        return None if refused is None else refused.status, virtual_loop().time() - began

    return run(main())


def test_health_is_open() -> None:
    assert status(None, "/healthz") == (None, 0.0)


@pytest.mark.parametrize("path", ["/metrics", "/readyz", "/", "/healthz/../metrics"])
def test_everything_else_needs_a_user(path: str) -> None:
    assert status(None, path)[0] == 401


def test_a_password_is_accepted() -> None:
    assert status(basic("alice", PASSWORD)) == (None, 0.0)


def test_a_token_is_accepted() -> None:
    assert status(b"bearer good")[0] is None


@pytest.mark.parametrize(
    "given",
    [
        basic("alice", "guessed"),
        basic("mallory", PASSWORD),
        basic("", ""),
        basic("alice\0", PASSWORD),
        b"Basic",
        b"Basic !!!",
        b"Basic /w==",
        b"Bearer bad",
        b"Bearer \xff",
        b"Bearer good\x01auth=Bearer good",
        b"Digest alice",
        b"",
    ],
)
def test_failed_authentication_is_answered_late(given: bytes) -> None:
    refused, seconds = status(given)
    assert refused == 401
    assert seconds >= 0.1


def test_a_user_without_the_right_is_refused() -> None:
    assert status(basic("bob", "bob's"))[0] == 403


def test_without_users_only_health_is_answered() -> None:
    assert status(basic("alice", PASSWORD), has_users=False)[0] == 401
    assert status(None, "/healthz", has_users=False)[0] is None
