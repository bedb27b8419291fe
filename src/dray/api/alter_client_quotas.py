"""AlterClientQuotas (key 49), versions 0 to 1.

Version notes:
- 0: quotas of users, client ids and IP addresses (KIP-546).
- 1: flexible.

Differences from Kafka:
- An IP address must be one; Kafka also takes names of hosts that it can resolve.
- Results are in the order of the request; Kafka returns them in any order.
- A request for several entities changes one after the other; Kafka changes all at once.
- `request_percentage` is of the one event loop of a broker, so 100 is all of it; threads do not count.
  Kafka's largest value is 100 for each of its threads.
- What a client did while no limit applied to it does not count once there is one.

As in Kafka, limits hold for each broker by itself: on three brokers a client may do three times as much. The
changes of an entity are made together, by one commit.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, RequestRejected, code_of, message_of
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.quotas import Entity, InvalidQuota, altered_limits
from dray.wire import ErrorCode
from dray.wire.apis.alter_client_quotas import (
    ALTER_CLIENT_QUOTAS,
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryDataRequest,
    EntryDataResponse,
)


async def handle(
    request: AlterClientQuotasRequest, context: Context, services: Services
) -> AlterClientQuotasResponse:
    results: dict[Entity, EntryDataResponse] = {}
    for entry in request.entries:
        entity = Entity.of({part.entity_type: part.entity_name for part in entry.entity})
        if entity in results:  # the first entry is applied nevertheless, as in Kafka
            message = f"Ignoring duplicate entity {entity}"
            results[entity] = _result(entity, RequestRejected(ErrorCode.INVALID_REQUEST, message))
        else:
            results[entity] = await _alter(entity, entry, request.validate_only, context, services)
    return AlterClientQuotasResponse(entries=list(results.values()))


async def _alter(
    entity: Entity, entry: EntryDataRequest, validate_only: bool, context: Context, services: Services
) -> EntryDataResponse:
    changes = [(op.key, None if op.remove else op.value) for op in entry.ops]
    try:
        context.access.require_on_cluster(Operation.ALTER_CONFIGS)
        altered_limits(entity, {}, changes)
        if not validate_only:
            await services.quotas.alter(entity, partial(altered_limits, entity, changes=changes))
    except InvalidQuota as error:
        return _result(entity, RequestRejected(ErrorCode.INVALID_REQUEST, str(error)))
    except EXPECTED as error:
        return _result(entity, error)
    return _result(entity, None)


def _result(entity: Entity, error: BaseException | None) -> EntryDataResponse:
    return EntryDataResponse(
        error_code=ErrorCode.NONE if error is None else code_of(error),
        error_message=None if error is None else message_of(error),
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts],
    )


def _changes(request: AlterClientQuotasRequest) -> Iterator[str]:
    for entry in request.entries:
        entity = Entity.of({part.entity_type: part.entity_name for part in entry.entity})
        yield f"{entity} {' '.join(f'{op.key}={None if op.remove else op.value}' for op in entry.ops)}"


API: Final = Served(ALTER_CLIENT_QUOTAS, versions=(0, 1), handle=handle, changes=_changes)
