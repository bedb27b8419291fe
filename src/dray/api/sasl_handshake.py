"""SaslHandshake (key 17), versions 0 to 1.

Version notes:
- 1: the tokens follow in SaslAuthenticate requests (KIP-152).

Before authentication, and when a client authenticates again, the request does not arrive here but is handled
by the connection (`dray.net.sasl_gate`). Here it is out of order, or came by a listener without SASL.
"""

from typing import Final

from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.sasl_handshake import SASL_HANDSHAKE, SaslHandshakeRequest, SaslHandshakeResponse


async def handle(_: SaslHandshakeRequest, _context: Context, _services: Services) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)


API: Final = Served(SASL_HANDSHAKE, versions=(0, 1), handle=handle)
