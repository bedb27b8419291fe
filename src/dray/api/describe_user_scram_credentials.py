"""DescribeUserScramCredentials (key 50), version 0 (KIP-554).

Neither passwords nor keys are in the response, only mechanisms and iterations.
"""

from collections import Counter
from typing import Final

from dray.acls import Operation
from dray.api.errors import RequestRejected
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.sasl import Credentials
from dray.wire import ErrorCode
from dray.wire.apis import describe_user_scram_credentials as wire


async def handle(
    request: wire.DescribeUserScramCredentialsRequest, context: Context, services: Services
) -> wire.DescribeUserScramCredentialsResponse:
    if not context.access.allows_on_cluster(Operation.DESCRIBE):
        refused = RequestRejected(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return wire.DescribeUserScramCredentialsResponse(
            error_code=refused.code,
            error_message=None,
            results=[_failed("", refused) for _ in request.users or ()],  # without names, as in Kafka
        )
    times = Counter(user.name for user in request.users or ()) or Counter(services.users.names())
    return wire.DescribeUserScramCredentialsResponse(
        results=[_describe(name, count, services) for name, count in times.items()]
    )


def _describe(name: str, count: int, services: Services) -> wire.DescribeUserScramCredentialsResult:
    if count > 1:
        why = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        return _failed(name, RequestRejected(ErrorCode.DUPLICATE_RESOURCE, why))
    credentials = services.users.credentials(name)
    if not credentials:
        why = f"Attempt to describe a user credential that does not exist: {name}"
        return _failed(name, RequestRejected(ErrorCode.RESOURCE_NOT_FOUND, why))
    return wire.DescribeUserScramCredentialsResult(user=name, credential_infos=_infos(credentials))


def _infos(credentials: Credentials) -> list[wire.CredentialInfo]:
    return sorted(
        (
            wire.CredentialInfo(mechanism=mechanism.code, iterations=credential.iterations)
            for mechanism, credential in credentials.items()
        ),
        key=lambda info: info.mechanism,
    )


def _failed(name: str, error: RequestRejected) -> wire.DescribeUserScramCredentialsResult:
    return wire.DescribeUserScramCredentialsResult(
        user=name, error_code=error.code, error_message=error.message
    )


API: Final = Served(wire.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), handle=handle)
