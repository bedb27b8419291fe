"""SaslAuthenticate (key 36), versions 0 to 2 (KIP-152).

Version notes:
- 1: lifetime of the session (KIP-368).
- 2: flexible.

Tokens of an exchange do not arrive here but are handled by the connection (`dray.net.sasl_gate`). Here the
request is out of order, or came by a listener without SASL.
"""

from typing import Final

from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.sasl_authenticate import (
    SASL_AUTHENTICATE,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)


async def handle(
    _: SaslAuthenticateRequest, _context: Context, _services: Services
) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )


API: Final = Served(SASL_AUTHENTICATE, versions=(0, 2), handle=handle)
