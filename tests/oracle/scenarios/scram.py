"""Users and their SCRAM credentials, and SASL requests where they are out of order."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from dray.wire.apis.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from dray.wire.apis.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from dray.wire.apis.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from dray.wire.apis.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.oracle.transcripts import ResponseRecorder

SHA_256: Final = 1
SHA_512: Final = 2
SALTED: Final = {SHA_256: bytes(range(32)), SHA_512: bytes(range(64))}


def _upsertion(name: str, mechanism: int = SHA_256, iterations: int = 8192) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"a salt of this test",
        salted_password=SALTED.get(mechanism, b"?"),
    )


def _alter(
    recorder: ResponseRecorder,
    label: str,
    upsertions: Iterable[ScramCredentialUpsertion] = (),
    deletions: Iterable[tuple[str, int]] = (),
) -> None:
    request = AlterUserScramCredentialsRequest(
        upsertions=list(upsertions),
        deletions=[ScramCredentialDeletion(name=name, mechanism=kind) for name, kind in deletions],
    )
    recorder.send(request, AlterUserScramCredentialsResponse, 0, label, ordered=_by_user)


def _by_user(response: AlterUserScramCredentialsResponse) -> AlterUserScramCredentialsResponse:
    return replace(response, results=sorted(response.results, key=lambda result: result.user))


def _describe(recorder: ResponseRecorder, label: str, *names: str) -> None:
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names])
    recorder.send(request, DescribeUserScramCredentialsResponse, 0, label, ordered=_described_by_user)


def _described_by_user(
    response: DescribeUserScramCredentialsResponse,
) -> DescribeUserScramCredentialsResponse:
    return replace(response, results=sorted(response.results, key=lambda result: result.user))


def credentials(recorder: ResponseRecorder) -> None:
    name = recorder.named("user")
    _alter(recorder, "both mechanisms", [_upsertion(name), _upsertion(name, SHA_512, 4096)])
    _describe(recorder, "both mechanisms", name)
    _alter(recorder, "other iterations", [_upsertion(name, SHA_256, 16384)])
    _describe(recorder, "other iterations", name)
    _describe(recorder, "twice", name, name)
    _describe(recorder, "of no user", recorder.named("missing"))
    _alter(recorder, "one deleted", deletions=[(name, SHA_512)])
    _describe(recorder, "one deleted", name)
    _alter(recorder, "deleted again", deletions=[(name, SHA_512)])
    _alter(recorder, "the last deleted", deletions=[(name, SHA_256)])
    _describe(recorder, "the last deleted", name)


def wrong_changes(recorder: ResponseRecorder) -> None:
    name, other = recorder.named("wrong"), recorder.named("other")
    _alter(recorder, "empty name", [_upsertion("")])
    _alter(recorder, "deletion of an empty name", deletions=[("", SHA_256)])
    _alter(recorder, "unknown mechanism", [_upsertion(name, 3)])
    _alter(recorder, "mechanism 0", [_upsertion(name, 0)])
    _alter(recorder, "deletion of an unknown mechanism", deletions=[(name, 3)])
    _alter(recorder, "too few iterations", [_upsertion(name, SHA_256, 4095)])
    _alter(recorder, "too many iterations", [_upsertion(name, SHA_256, 16385)])
    _alter(recorder, "twice", [_upsertion(name), _upsertion(name)])
    _alter(recorder, "changed and deleted", [_upsertion(name)], [(name, SHA_256)])
    _alter(recorder, "one of two users wrong", [_upsertion(name, SHA_256, 1), _upsertion(other)])
    _describe(recorder, "one of two users wrong", name, other)
    _alter(recorder, "one of two mechanisms wrong", [_upsertion(name), _upsertion(name, SHA_512, 1)])
    _describe(recorder, "one of two mechanisms wrong", name)
    _alter(recorder, "nothing")


def sasl_out_of_order(recorder: ResponseRecorder) -> None:
    for version in (0, 1):
        recorder.send(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse, version)
    for version in (0, 1, 2):
        recorder.send(SaslAuthenticateRequest(auth_bytes=b"\0a\0b"), SaslAuthenticateResponse, version)


SCENARIOS = (credentials, wrong_changes, sasl_out_of_order)
