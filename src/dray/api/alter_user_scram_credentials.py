"""AlterUserScramCredentials (key 51), version 0 (KIP-554).

Differences from Kafka:
- A request may alter both credentials of a user, as an example of Kafka's documentation does; Kafka 4.3
  answers DUPLICATE_RESOURCE.

The client sends the salted password, never the password. All changes of a user are made in one commit.
"""

from collections.abc import Iterator
from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, RequestRejected, code_of, message_of
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.sasl import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    USER_BYTES_MAX,
    Credentials,
    InvalidCredential,
    ScramMechanism,
    from_salted_password,
    mechanism_of,
)
from dray.wire import ErrorCode
from dray.wire.apis.alter_user_scram_credentials import (
    ALTER_USER_SCRAM_CREDENTIALS,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

_Alteration = ScramCredentialDeletion | ScramCredentialUpsertion


async def handle(
    request: AlterUserScramCredentialsRequest, context: Context, services: Services
) -> AlterUserScramCredentialsResponse:
    by_user: dict[str, list[_Alteration]] = {}
    alterations: list[_Alteration] = [*request.deletions, *request.upsertions]
    for alteration in alterations:
        by_user.setdefault(alteration.name, []).append(alteration)
    return AlterUserScramCredentialsResponse(
        results=[await _alter(name, given, context, services) for name, given in by_user.items()]
    )


async def _alter(
    name: str, alterations: list[_Alteration], context: Context, services: Services
) -> AlterUserScramCredentialsResult:
    def changed(old: Credentials) -> Credentials:
        return _apply(alterations, old)

    try:
        context.access.require_on_cluster(Operation.ALTER)
        _check(name, alterations)
        await services.users.change(name, changed)
    except EXPECTED as error:
        return AlterUserScramCredentialsResult(
            user=name, error_code=code_of(error), error_message=message_of(error)
        )
    return AlterUserScramCredentialsResult(user=name, error_message=None)


def _check(name: str, alterations: list[_Alteration]) -> None:
    if not name:
        raise RequestRejected(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if len(name.encode()) > USER_BYTES_MAX:
        why = f"Username must not be longer than {USER_BYTES_MAX} bytes"
        raise RequestRejected(ErrorCode.UNACCEPTABLE_CREDENTIAL, why)
    for alteration in alterations:
        _mechanism(alteration)
        if not isinstance(alteration, ScramCredentialUpsertion):
            continue
        if alteration.iterations < ITERATIONS_MIN:
            raise RequestRejected(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        if alteration.iterations > ITERATIONS_MAX:
            raise RequestRejected(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")


def _mechanism(alteration: _Alteration) -> ScramMechanism:
    mechanism = mechanism_of(alteration.mechanism)
    if mechanism is None:
        raise RequestRejected(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return mechanism


def _apply(alterations: list[_Alteration], old: Credentials) -> Credentials:
    """Return the new credentials of a user."""
    new, altered = dict(old), set[ScramMechanism]()
    for alteration in alterations:
        mechanism = _mechanism(alteration)
        if isinstance(alteration, ScramCredentialDeletion) and mechanism not in old:
            why = "Attempt to delete a user credential that does not exist"
            raise RequestRejected(ErrorCode.RESOURCE_NOT_FOUND, why)
        if mechanism in altered:
            why = "A user credential cannot be altered twice in the same request"
            raise RequestRejected(ErrorCode.DUPLICATE_RESOURCE, why)
        altered.add(mechanism)
        if isinstance(alteration, ScramCredentialDeletion):
            del new[mechanism]
            continue
        try:
            new[mechanism] = from_salted_password(
                mechanism, bytes(alteration.salted_password), bytes(alteration.salt), alteration.iterations
            )
        except InvalidCredential as error:
            raise RequestRejected(ErrorCode.UNACCEPTABLE_CREDENTIAL, str(error)) from error
    return new


def _changes(request: AlterUserScramCredentialsRequest) -> Iterator[str]:
    for deletion in request.deletions:
        yield f"USER:{deletion.name} without mechanism {deletion.mechanism}"
    for upsertion in request.upsertions:
        yield f"USER:{upsertion.name} with mechanism {upsertion.mechanism}"


API: Final = Served(ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0), handle=handle, changes=_changes)
