"""SASL on one connection: requests pass to the dispatcher once the client is authenticated.

    ApiVersions (once) ─▶ SaslHandshake ─▶ tokens ─▶ all other requests
                               ▲                            │
                               └──── re-authentication ─────┘

After SaslHandshake version 1 tokens are in SaslAuthenticate requests, after version 0 bare. A client that
fails is answered after a delay, then the connection is closed. Anything out of order closes it, in most cases
without an answer, as in Kafka.

A client whose session has a lifetime must authenticate again before that ends (KIP-368): the next request
after it closes the connection. It may do so at any time, but at most once a second, and as the same principal
with the same mechanism. Without a lifetime it may not.

All work is done when a request begins, so each one finds the state that those before it left.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from dray.api.exchange import CloseConnection, EncodedResponse, Finish, Peer
from dray.ids import Principal
from dray.net.authenticator import Authenticator
from dray.net.metrics import Login, LoginMetrics
from dray.net.sasl_settings import SaslSettings
from dray.net.spec import Begin, Channel
from dray.sasl import Accepted, Challenge, Exchange, Rejected
from dray.wire import (
    LENGTH_BYTES,
    Api,
    ErrorCode,
    Message,
    WireError,
    decode_peeked_request,
    encode_response,
    peek,
)
from dray.wire.apis.api_versions import API_VERSIONS
from dray.wire.apis.sasl_authenticate import (
    SASL_AUTHENTICATE,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from dray.wire.apis.sasl_handshake import SASL_HANDSHAKE, SaslHandshakeRequest, SaslHandshakeResponse

FRAME_BYTES_MAX: Final = 512 << 10
"""The largest request before authentication; Kafka's default of `sasl.server.max.receive.size`."""
_REAUTHENTICATION_S_MIN: Final = 1.0
_BARE_TOKENS_VERSION: Final = 0


@dataclass(frozen=True, slots=True)
class _Request:
    """A decoded request of one of the two SASL APIs."""

    api: Api
    version: int
    correlation_id: int
    body: Message

    def answered(self, response: Message) -> EncodedResponse:
        return encode_response(self.api, self.version, self.correlation_id, response)


@dataclass(frozen=True, slots=True)
class _Session:
    """An authenticated client."""

    mechanism: str
    ends: float | None
    """When it must have authenticated again; None if never."""


class SaslGate:
    """The requests of one connection of a listener with SASL."""

    def __init__(
        self,
        channel: Channel,
        begin: Begin,
        authenticator: Authenticator,
        settings: SaslSettings,
        *,
        metrics: LoginMetrics,
        failed: Callable[[Peer, str, str], None],
    ) -> None:
        channel.limit_request(FRAME_BYTES_MAX)
        self._channel = channel
        self._begin = begin
        self._authenticator = authenticator
        self._settings = settings
        self._metrics = metrics
        self._failed = failed
        """Logs a failure of a peer, by mechanism and reason."""
        self._clock = authenticator.clock
        self._versions_known = False
        self._exchange: Exchange | None = None
        self._bare_tokens = False
        self._session: _Session | None = None
        self._repeated: float | None = None
        """When the last re-authentication began."""
        self._refused = False
        """Whether the connection closes with the answer that is on its way."""

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        """Begin a request; raises `CloseConnection` if it is out of order."""
        if self._refused:
            raise CloseConnection("a request followed a refused authentication")
        try:
            if self._exchange is not None:
                return await self._token(self._exchange, frame, peer)
            if self._session is None:
                return await self._unauthenticated(frame, peer)
            if self._begins_again(frame, self._session):
                return self._handshake(_decoded(SASL_HANDSHAKE, frame), reauthentication=True)
        except WireError as error:
            raise CloseConnection(f"a request could not be read: {error}") from error
        if self._session.ends is not None and self._clock.monotonic() > self._session.ends:
            raise CloseConnection("the session has expired, and the client did not authenticate again")
        return await self._begin(frame, peer)

    async def _unauthenticated(self, frame: memoryview, peer: Peer) -> Finish:
        key, version, _ = peek(frame)
        if key == API_VERSIONS.key and not self._versions_known:
            self._versions_known = API_VERSIONS.lowest <= version <= API_VERSIONS.highest
            return await self._begin(frame, peer._replace(authenticates=True))
        if key != SASL_HANDSHAKE.key:
            raise CloseConnection(f"API {key} was requested before authentication")
        return self._handshake(_decoded(SASL_HANDSHAKE, frame), reauthentication=False)

    def _begins_again(self, frame: memoryview, session: _Session) -> bool:
        """Return whether the request begins a re-authentication; one that may not is an ordinary request."""
        if session.ends is None or peek(frame)[0] != SASL_HANDSHAKE.key:
            return False
        now = self._clock.monotonic()
        if self._repeated is not None and now - self._repeated < _REAUTHENTICATION_S_MIN:
            return False
        self._repeated = now
        return True

    def _handshake(self, request: _Request, *, reauthentication: bool) -> Finish:
        assert isinstance(request.body, SaslHandshakeRequest)
        mechanism, mechanisms = request.body.mechanism, self._authenticator.mechanisms
        code = ErrorCode.NONE if mechanism in mechanisms else ErrorCode.UNSUPPORTED_SASL_MECHANISM
        response = request.answered(SaslHandshakeResponse(error_code=code, mechanisms=list(mechanisms)))
        if code:
            self._refused = True
            return partial(_closing, f"SASL mechanism {mechanism[:64]!r} is not enabled", response)
        if self._session is not None and mechanism != self._session.mechanism:
            raise CloseConnection("a re-authentication must use the same SASL mechanism")
        self._bare_tokens = request.version == _BARE_TOKENS_VERSION
        self._exchange = self._authenticator.begin(mechanism, reauthentication=reauthentication)
        return partial(_completed, response)

    async def _token(self, exchange: Exchange, frame: memoryview, peer: Peer) -> Finish:
        if self._bare_tokens:
            event = await self._authenticator.advance(exchange, bytes(frame))
            return await self._answer(event, exchange, peer, None)
        key = peek(frame)[0]
        if key != SASL_AUTHENTICATE.key:
            raise CloseConnection(f"API {key} was requested during authentication")
        request = _decoded(SASL_AUTHENTICATE, frame)
        assert isinstance(request.body, SaslAuthenticateRequest)
        event = await self._authenticator.advance(exchange, bytes(request.body.auth_bytes))
        return await self._answer(event, exchange, peer, request)

    async def _answer(
        self, event: Challenge | Accepted | Rejected, exchange: Exchange, peer: Peer, request: _Request | None
    ) -> Finish:
        match event:
            case Challenge(message):
                return partial(_completed, _carrying(message, request))
            case Accepted():
                return self._accept(event, exchange, peer, request)
            case Rejected(reason, message):
                return await self._reject(reason, message, exchange, peer, request)

    def _accept(self, event: Accepted, exchange: Exchange, peer: Peer, request: _Request | None) -> Finish:
        authenticated, known = event.authenticated, self._session
        principal = Principal.user(authenticated.principal_name)
        if known is not None and peer.principal != principal:
            raise CloseConnection("a re-authentication must have the same principal")
        lifetime_ms = self._lifetime_ms(authenticated.expires_at_ms)
        self._exchange = None
        # also if no response says so
        ends = self._clock.monotonic() + lifetime_ms / 1000 if lifetime_ms else None
        self._session = _Session(exchange.mechanism, ends)
        self._metrics.count(exchange.mechanism, Login.REPEATED if known else Login.SUCCEEDED)
        if known is None:
            self._channel.peer = peer._replace(principal=principal)
            self._channel.limit_request(None)
        return partial(_completed, _carrying(event.message, request, lifetime_ms))

    def _lifetime_ms(self, expires_at_ms: int | None) -> int:
        """Return how long the session may last; 0 if it has no end."""
        limits = (
            [self._settings.connections_max_reauth_ms] if self._settings.connections_max_reauth_ms else []
        )
        if expires_at_ms is not None:
            limits.append(max(expires_at_ms - self._clock.now_ms(), 1))
        return min(limits, default=0)

    async def _reject(
        self, reason: str, message: str, exchange: Exchange, peer: Peer, request: _Request | None
    ) -> Finish:
        self._metrics.count(exchange.mechanism, Login.FAILED)
        self._failed(peer, exchange.mechanism, reason)
        await self._clock.sleep(self._settings.connection_failed_authentication_delay_ms / 1000)
        refusal = f"authentication with {exchange.mechanism} failed"
        if request is None:  # bare tokens have no form for an error
            raise CloseConnection(refusal)
        self._refused = True
        response = SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=message
        )
        return partial(_closing, refusal, request.answered(response))


def _decoded(api: Api, frame: memoryview) -> _Request:
    key, version, correlation_id = peek(frame)
    if not api.lowest <= version <= api.highest:
        raise CloseConnection(f"API {key} in version {version} is not served")
    _, body = decode_peeked_request(api, version, frame)
    return _Request(api, version, correlation_id, body)


def _carrying(token: bytes, request: _Request | None, lifetime_ms: int = 0) -> EncodedResponse:
    """Return a response with a token, in the form of its request."""
    if request is None:
        return [len(token).to_bytes(LENGTH_BYTES, "big") + token]
    return request.answered(
        SaslAuthenticateResponse(error_message=None, auth_bytes=token, session_lifetime_ms=lifetime_ms)
    )


async def _completed(response: EncodedResponse) -> EncodedResponse:
    return response


async def _closing(reason: str, response: EncodedResponse) -> EncodedResponse:
    raise CloseConnection(reason, response)
