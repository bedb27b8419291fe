"""Authentication of a broker's clients: the gates of connections of listeners with SASL.

Listeners are bound before the stores are open, so that an address in use is reported at once. The gates need
the users of the cluster; they are completed before the first connection is accepted.
"""

from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from dray.api.audit import AuditLog
from dray.api.exchange import Peer
from dray.api.services import Services
from dray.cluster.users import scram_secret
from dray.net.authenticator import MECHANISMS, Authenticator, TokenVerifier
from dray.net.metrics import Login, LoginMetrics
from dray.net.sasl_gate import SaslGate
from dray.net.sasl_settings import SaslSettings
from dray.net.spec import Begin, Channel
from dray.runtime import LazyModule, Threads
from dray.sasl import OAUTHBEARER, UnknownUsers
from dray.server.errors import ConfigurationError
from dray.server.stores import ProcessContext, Stores

if TYPE_CHECKING:
    from dray.net import signing_keys
else:
    signing_keys = LazyModule("dray.net.signing_keys")

_HTTP = "HTTP"
_HASHING_THREADS = 1
"""At most one core hashes passwords, however many clients log in."""


class Authentication:
    """Makes a gate for each connection."""

    def __init__(self, settings: SaslSettings, context: ProcessContext) -> None:
        self._settings = settings
        self._context = context
        self._metrics = LoginMetrics.on(context.metrics)
        self._authenticator: Authenticator | None = None
        self._audit: AuditLog | None = None

    async def open(self, stores: Stores, services: Services, stopping: AsyncExitStack) -> Authenticator:
        """Complete the gates; returns the authenticator, for other endpoints."""
        context = self._context
        threads = Threads("passwords", _HASHING_THREADS)
        stopping.push_async_callback(threads.stop)
        self._audit = services.audit
        self._authenticator = Authenticator(
            self._settings.mechanisms,
            services.users,
            UnknownUsers(await scram_secret(stores.meta, context.entropy)),
            context.clock,
            context.entropy,
            threads,
            await self._token_verifier(stopping),
        )
        return self._authenticator

    def http_login_failed(self, host: str) -> None:
        """Count and log a failed login at an endpoint over HTTP."""
        if self._audit is not None:
            self._metrics.count(_HTTP, Login.FAILED)
            self._audit.login_failed(host, _HTTP, "Authorization", "wrong user, password or token")

    def gate(self, channel: Channel, begin: Begin) -> Begin:
        """Return the function that begins the requests of a new connection."""
        assert self._authenticator is not None, "no connection is accepted before the gates are complete"
        assert self._audit is not None
        failed = partial(_log_failure, self._audit)
        gate = SaslGate(
            channel, begin, self._authenticator, self._settings, metrics=self._metrics, failed=failed
        )
        return gate.begin

    async def _token_verifier(self, stopping: AsyncExitStack) -> TokenVerifier | None:
        source = self._settings.oauthbearer_jwks
        if OAUTHBEARER not in self._settings.mechanisms or source is None:
            return None
        threads = Threads("signing-keys", 1)
        stopping.push_async_callback(threads.stop, 1.0)
        rules, clock = signing_keys.rules_of(self._settings), self._context.clock
        keys = signing_keys.TokenKeys(source, rules, threads, clock)
        seconds = self._settings.oauthbearer_jwks_refresh_ms / 1000
        await keys.refresh()
        self._context.tasks.start(keys.keep(seconds), name="signing-keys")
        return keys.verify


def check_sasl(settings: SaslSettings) -> None:
    """Raise `ConfigurationError` if clients could not authenticate with these settings."""
    unknown = [name for name in settings.mechanisms if name not in MECHANISMS]
    if unknown:
        raise ConfigurationError(
            f"sasl.enabled_mechanisms names {unknown[0]}; there are {', '.join(MECHANISMS)}"
        )
    if OAUTHBEARER in settings.mechanisms and settings.oauthbearer_jwks is None:
        raise ConfigurationError(
            "sasl.enabled_mechanisms names OAUTHBEARER and nothing says whose tokens are valid; set "
            "sasl.oauthbearer_jwks"
        )


def _log_failure(audit: AuditLog, peer: Peer, mechanism: str, reason: str) -> None:
    audit.login_failed(peer.host, peer.listener, mechanism, reason)
