"""InitProducerId (key 22), versions 0 to 5.

Version notes:
- 2: flexible.
- 3: producer id and epoch of a producer that recovers (KIP-360).
- 4: PRODUCER_FENCED (KIP-588).
- 5: TRANSACTION_ABORTABLE (KIP-890).

Differences from Kafka:
- Only idempotent producers are supported. A transactional id gets TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
  which all clients treat as fatal; they ask FindCoordinator first, whose answer says why.
"""

from typing import Final

from dray.acls import Operation, ResourceType
from dray.api.authorization import Access
from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.init_producer_id import INIT_PRODUCER_ID, InitProducerIdRequest, InitProducerIdResponse

_NONE = -1


async def handle(
    request: InitProducerIdRequest, context: Context, services: Services
) -> InitProducerIdResponse:
    refusal = _refusal(request, context.access)
    if refusal is not None:
        return InitProducerIdResponse(error_code=refusal, producer_epoch=-1)
    try:
        return InitProducerIdResponse(producer_id=await services.producer_ids.next(), producer_epoch=0)
    except EXPECTED as error:
        return InitProducerIdResponse(error_code=code_of(error), producer_epoch=-1)


def _refusal(request: InitProducerIdRequest, access: Access) -> ErrorCode | None:
    transactional_id = request.transactional_id
    if transactional_id is None:
        if not _may_write(access):
            return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    elif not access.allows(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if transactional_id == "":
        return ErrorCode.INVALID_REQUEST
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        return ErrorCode.INVALID_REQUEST
    if transactional_id is not None:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return None


def _may_write(access: Access) -> bool:
    """Return whether the client may be an idempotent producer: all that may write to some topic may."""
    if access.allows_on_cluster(Operation.IDEMPOTENT_WRITE, audited=False):
        return True
    return access.allows_on_some_topic(Operation.WRITE)


API: Final = Served(INIT_PRODUCER_ID, versions=(0, 5), handle=handle)
