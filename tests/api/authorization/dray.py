"""The matrix on a Dray broker in this process, in virtual time.

Requests of authenticated users go to the dispatcher; the others first meet the gate of a listener with SASL.
"""

import asyncio
from typing import Final

from dray.api.dispatch import Dispatcher
from dray.api.exchange import CloseConnection, Peer
from dray.api.metrics import ApiMetrics
from dray.cluster.settings import SecuritySettings
from dray.ids import Principal
from dray.net.authenticator import Authenticator
from dray.net.metrics import LoginMetrics
from dray.net.sasl_gate import SaslGate
from dray.net.sasl_settings import SaslSettings
from dray.observe import Metrics
from dray.sasl import PLAIN, UnknownUsers
from dray.testing.entropy import SeededEntropy
from dray.wire import LENGTH_BYTES
from dray.wire.apis.sasl_authenticate import SaslAuthenticateRequest
from dray.wire.apis.sasl_handshake import SaslHandshakeRequest
from tests.api.authorization.users import ADMIN, IMPOSTOR, REFUSED
from tests.api.builders import Broker, Cluster
from tests.net.gates import InlineThreads
from tests.oracle.request_client import frame_of
from tests.sasl.clients import plain_message

SECURITY: Final = SecuritySettings(authorizer_enable=True, super_users=f"User:{ADMIN};User:ANONYMOUS")
_HOST: Final = "127.0.0.1"
_ANSWER_S: Final = 120.0
_PROPAGATION_S: Final = 0.01


class _Channel:
    """A connection that only the gate uses."""

    peer = Peer(_HOST, 50_000)

    def limit_request(self, bytes_max: int | None) -> None:
        del bytes_max

    def disconnect(self, reason: str) -> None:
        raise AssertionError(reason)


class DrayBackend:
    """A broker that frames are passed to as a connection does."""

    def __init__(self, cluster: Cluster, broker: Broker) -> None:
        self._clock = cluster.clock
        self._services = broker.services
        self._dispatcher = Dispatcher(broker.services, ApiMetrics.on(Metrics()))

    @classmethod
    async def started(cls) -> "DrayBackend":
        cluster = Cluster()
        return cls(cluster, await cluster.broker(security=SECURITY))

    async def exchange(self, user: str, frame: bytes) -> bytes | None:
        peer = Peer(_HOST, 50_000, principal=Principal.user(user))
        requests = self._dispatcher if user not in REFUSED else self._gate()
        try:
            if user == IMPOSTOR:
                await self._fail_to_log_in(requests, peer)
            answer = await _answer(requests, frame, peer)
        except CloseConnection:
            return None
        await self.pause()
        return answer

    async def send_silently(self, user: str, frame: bytes) -> bool:
        closed: list[str] = []
        peer = Peer(_HOST, 50_000, closed.append, principal=Principal.user(user))
        try:
            requests = self._dispatcher if user not in REFUSED else self._gate()
            assert await _answer(requests, frame, peer) is None
        except CloseConnection:
            return False
        await self.pause()
        return not closed

    async def pause(self) -> None:
        await self._clock.sleep(_PROPAGATION_S)

    def _gate(self) -> SaslGate:
        authenticator = Authenticator(
            (PLAIN,),
            self._services.users,
            UnknownUsers(b"a secret of the cluster"),
            self._clock,
            SeededEntropy("gate"),
            InlineThreads("hash", 1),
        )
        return SaslGate(
            _Channel(),
            self._dispatcher.begin,
            authenticator,
            SaslSettings(),
            metrics=LoginMetrics.on(Metrics()),
            failed=lambda *_: None,
        )

    async def _fail_to_log_in(self, requests: "Dispatcher | SaslGate", peer: Peer) -> None:
        await _answer(requests, frame_of(SaslHandshakeRequest(mechanism=PLAIN), 1), peer)
        token = SaslAuthenticateRequest(auth_bytes=plain_message(ADMIN, "wrong"))
        await _answer(requests, frame_of(token, 2), peer)
        raise AssertionError("a wrong password was accepted")


async def _answer(requests: "Dispatcher | SaslGate", frame: bytes, peer: Peer) -> bytes | None:
    async with asyncio.timeout(_ANSWER_S):
        finish = await requests.begin(memoryview(frame), peer)
        answer = await finish()
    return None if answer is None else b"".join(answer)[LENGTH_BYTES:]
