"""A SASL gate before requests that are only recorded, on virtual time."""

from collections.abc import Callable
from functools import partial
from typing import Final, ParamSpec, TypeVar

from dray.api.exchange import EncodedResponse, Finish, Peer
from dray.net.authenticator import MECHANISMS, Authenticator, TokenVerifier
from dray.net.metrics import LoginMetrics
from dray.net.sasl_gate import SaslGate
from dray.net.sasl_settings import SaslSettings
from dray.observe import Metrics
from dray.runtime import Threads
from dray.sasl import Credentials, ScramMechanism, UnknownUsers, derive
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.virtual_loop import virtual_loop
from dray.wire import LENGTH_BYTES, Api, Message, RequestHeader, decode_response, encode_request, peek
from dray.wire.apis.sasl_authenticate import (
    SASL_AUTHENTICATE,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from dray.wire.apis.sasl_handshake import SASL_HANDSHAKE, SaslHandshakeRequest, SaslHandshakeResponse

P = ParamSpec("P")
T = TypeVar("T")
PASSWORD: Final = "secret"
PEER: Final = Peer("10.0.0.7", 50_000)
ALICE: Final[Credentials] = {
    mechanism: derive(mechanism, PASSWORD, b"salt of alice", 4096) for mechanism in ScramMechanism
}
BOB: Final[Credentials] = {
    mechanism: derive(mechanism, "bob's", b"salt of bob", 4096) for mechanism in ScramMechanism
}


class Users:
    """A directory of two users."""

    def credentials(self, user: str) -> Credentials:
        return {"alice": ALICE, "bob": BOB}.get(user, {})


class InlineThreads(Threads):
    """Calls at once: a virtual loop has no threads."""

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return call(*args, **kwargs)


def authenticator(
    mechanisms: tuple[str, ...] = MECHANISMS, verify_token: TokenVerifier | None = None
) -> Authenticator:
    """Return an authenticator of the two users, on the time of the virtual loop."""
    return Authenticator(
        mechanisms,
        Users(),
        UnknownUsers(b"a secret of the cluster"),
        VirtualClock(virtual_loop()),
        SeededEntropy("gate"),
        InlineThreads("hash", 1),
        verify_token,
    )


class Recorder:
    """The requests that passed the gate."""

    def __init__(self) -> None:
        self.passed: list[tuple[int, str]] = []
        """API keys and principals of the requests."""
        self.quota_free: list[int] = []
        """API keys of the requests that count towards no quota."""

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        self.passed.append((peek(frame)[0], str(peer.principal)))
        if peer.authenticates:
            self.quota_free.append(peek(frame)[0])
        return partial(self._answer)

    async def _answer(self) -> EncodedResponse:
        return [b"\0\0\0\2ok"]


class Gate:
    """A client's view of a gate; every call is one request and its response."""

    def __init__(
        self,
        *,
        mechanisms: tuple[str, ...] = MECHANISMS,
        verify_token: TokenVerifier | None = None,
        max_reauth_ms: int = 0,
    ) -> None:
        self.clock = VirtualClock(virtual_loop())
        self.recorder = Recorder()
        self.failures: list[tuple[str, str]] = []
        self.peer = PEER
        self.request_limits: list[int | None] = []
        self._gate = SaslGate(
            self,
            self.recorder.begin,
            authenticator(mechanisms, verify_token),
            SaslSettings(connections_max_reauth_ms=max_reauth_ms),
            metrics=LoginMetrics.on(Metrics()),
            failed=lambda _, mechanism, reason: self.failures.append((mechanism, reason)),
        )

    def limit_request(self, bytes_max: int | None) -> None:
        self.request_limits.append(bytes_max)

    def disconnect(self, reason: str) -> None:
        raise AssertionError(reason)

    async def begin(self, api: Api, request: Message, version: int) -> None:
        """Begin a request without waiting for its response, as for one that is sent ahead."""
        header = RequestHeader(api.key, version, 7, "test")
        frame = b"".join(encode_request(api, header, request))[LENGTH_BYTES:]
        await self._gate.begin(memoryview(frame), self.peer)

    async def send(self, api: Api, request: Message, version: int) -> bytes | None:
        """Send a request; returns the response without its length."""
        header = RequestHeader(api.key, version, 7, "test")
        return await self.send_raw(b"".join(encode_request(api, header, request))[LENGTH_BYTES:])

    async def send_raw(self, frame: bytes) -> bytes | None:
        finish = await self._gate.begin(memoryview(frame), self.peer)
        response = await finish()
        return None if response is None else b"".join(bytes(part) for part in response)[LENGTH_BYTES:]

    async def handshake(self, mechanism: str, version: int = 1) -> SaslHandshakeResponse:
        answer = await self.send(SASL_HANDSHAKE, SaslHandshakeRequest(mechanism=mechanism), version)
        body = _body(SASL_HANDSHAKE, version, answer)
        assert isinstance(body, SaslHandshakeResponse)
        return body

    async def token(self, message: bytes, version: int = 2) -> SaslAuthenticateResponse:
        answer = await self.send(SASL_AUTHENTICATE, SaslAuthenticateRequest(auth_bytes=message), version)
        body = _body(SASL_AUTHENTICATE, version, answer)
        assert isinstance(body, SaslAuthenticateResponse)
        return body


def _body(api: Api, version: int, answer: bytes | None) -> Message:
    assert answer is not None
    return decode_response(api, version, answer)[1]
