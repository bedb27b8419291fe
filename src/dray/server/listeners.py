"""Listeners of a broker: what settings say about them, checked, and what the sockets need.

A broker that others on the network can reach without TLS must be wanted: such a listener is refused unless
`--insecure` is given.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dray.cluster.addresses import Address
from dray.cluster.brokers import Endpoint
from dray.net.endpoints import HttpAddress, ListenerPlan, Protocol, plan_listeners
from dray.net.principal_rules import PrincipalRules
from dray.net.spec import Gate, ListenerSpec, ListenerTls
from dray.net.tls import ClientAuth, TlsContexts, TlsError, TlsOptions
from dray.runtime import Clock
from dray.server.authentication import check_sasl
from dray.server.errors import ConfigurationError
from dray.settings import DraySettings
from dray.settings.tls import TlsSettings
from dray.settings.tree import BrokerSettings


@dataclass(frozen=True, slots=True)
class Listeners:
    """The listeners, in the order of `broker.listen`, and their certificates."""

    specs: tuple[ListenerSpec, ...]
    plans: tuple[ListenerPlan, ...]
    contexts: TlsContexts | None
    http_tls: ListenerTls | None
    """TLS of the HTTP endpoint, if it uses TLS; its clients authenticate with passwords or tokens."""

    def endpoints(self, bound: Mapping[str, Address]) -> tuple[Endpoint, ...]:
        """Return the advertised addresses; a listener without one advertises the address it is bound to."""
        return tuple(Endpoint(plan.name, *(plan.advertise or bound[plan.name])) for plan in self.plans)

    @property
    def authenticate(self) -> bool:
        """Whether clients of some listener authenticate with SASL."""
        return any(plan.protocol.uses_sasl for plan in self.plans)

    def configs(self, bound: Mapping[str, Address], tls: TlsSettings) -> dict[str, str]:
        """Return the configs that Kafka has for listeners, by its names."""
        found = {
            "listeners": ",".join(f"{name}://{address}" for name, address in bound.items()),
            "listener.security.protocol.map": ",".join(f"{plan.name}:{plan.protocol}" for plan in self.plans),
        }
        if self.contexts is not None:
            found |= {
                "ssl.client.auth": tls.client_auth_by_listener()[0],
                "ssl.enabled.protocols": tls.protocols,
                "ssl.principal.mapping.rules": tls.principal_mapping_rules,
            }
        return found


def listeners_of(settings: DraySettings, clock: Clock, gate: Gate) -> Listeners:
    """Return the listeners that settings describe, those with SASL behind a gate.

    Raises `ConfigurationError`.
    """
    plans = check_listeners(settings)
    auth = {plan.name: _client_auth(plan, settings.tls) for plan in plans if plan.protocol.uses_tls}
    http_uses_tls = HttpAddress.parse(settings.broker.http).uses_tls
    wanted = {*auth.values(), *([ClientAuth.NONE] if http_uses_tls else [])}
    contexts = _contexts(settings.tls, wanted, clock) if wanted else None
    rules = PrincipalRules(settings.tls.principal_mapping_rules)
    specs = []
    for plan in plans:
        tls = None
        if contexts is not None and plan.name in auth:
            by_certificate = plan.protocol is Protocol.SSL
            tls = ListenerTls(contexts, auth[plan.name], rules if by_certificate else None)
        specs.append(ListenerSpec(*plan.listen, plan.name, tls, gate if plan.protocol.uses_sasl else None))
    http_tls = ListenerTls(contexts) if contexts is not None and http_uses_tls else None
    return Listeners(tuple(specs), plans, contexts, http_tls)


def check_listeners(settings: DraySettings) -> tuple[ListenerPlan, ...]:
    """Return the listeners; raises `ConfigurationError` if they must not or cannot be served."""
    plans = plans_of(settings.broker)
    for plan in plans:
        if plan.is_exposed and not settings.broker.insecure:
            raise ConfigurationError(
                f"listener {plan.name} at {plan.listen} would let any client that reaches it read and "
                f"write everything, without encryption; use SSL://{plan.listen}, or allow it with --insecure"
            )
    _check_tls(settings, plans)
    if any(plan.protocol.uses_sasl for plan in plans):
        check_sasl(settings.sasl)
    return plans


def plans_of(broker: BrokerSettings) -> tuple[ListenerPlan, ...]:
    """Return the listeners of settings that are valid."""
    return plan_listeners(broker.listen, broker.advertise, broker.listener_protocols)


def _check_tls(settings: DraySettings, plans: tuple[ListenerPlan, ...]) -> None:
    tls, names = settings.tls, {plan.name for plan in plans}
    for key, named in (
        ("tls.client_auth", tls.client_auth_by_listener()[1]),
        ("net.connections_per_listener_max", settings.net.listener_maxima()),
        ("net.connection_rate_per_listener_max", settings.net.listener_rates()),
    ):
        unknown = sorted(named.keys() - names)
        if unknown:
            raise ConfigurationError(f"{key} names {unknown[0]}, which is not a listener of broker.listen")
    http = settings.broker.http
    if HttpAddress.parse(http).uses_tls and tls.certificate_file is None:
        raise ConfigurationError(
            f"broker.http is {http} and there is no certificate; set tls.certificate_file and tls.key_file"
        )
    for plan in plans:
        if not plan.protocol.uses_tls:
            continue
        if tls.certificate_file is None:
            raise ConfigurationError(
                f"listener {plan.name} uses {plan.protocol} and there is no certificate; set "
                "tls.certificate_file and tls.key_file"
            )
        auth = _client_auth(plan, tls)
        if auth is not ClientAuth.NONE and tls.client_ca_file is None:
            raise ConfigurationError(
                f"listener {plan.name}: tls.client_auth is {auth}, and nothing says which certificates to "
                "accept; set tls.client_ca_file"
            )


def _client_auth(plan: ListenerPlan, tls: TlsSettings) -> ClientAuth:
    """Return whether clients of a listener present certificates; with SASL only if it is set by name."""
    default, named = tls.client_auth_by_listener()
    return named.get(plan.name, ClientAuth.NONE if plan.protocol.uses_sasl else default)


def _contexts(tls: TlsSettings, wanted: set[ClientAuth], clock: Clock) -> TlsContexts:
    assert tls.certificate_file is not None
    options = TlsOptions(
        tls.certificate_file,
        tls.key_file or tls.certificate_file,
        None if tls.key_password is None else tls.key_password.reveal(),
        tls.client_ca_file,
        tuple(tls.versions()),
        tls.ciphers,
    )
    try:
        return TlsContexts(options, wanted, clock)
    except TlsError as error:
        raise ConfigurationError(str(error)) from error
