"""The HTTP endpoint of a broker: health and metrics, and the access to them."""

from contextlib import AsyncExitStack
from functools import partial

from dray.acls import Operation
from dray.api.audit import Caller
from dray.api.authorization import Access
from dray.api.services import Services
from dray.console import HttpServer, UserAccess, health_routes
from dray.ids import Principal
from dray.net import ListenerTls, NetMetrics
from dray.net.authenticator import Authenticator
from dray.net.endpoints import HttpAddress, is_loopback
from dray.observe import get_logger
from dray.server.authentication import Authentication
from dray.server.stores import ProcessContext, Stores, store_checks
from dray.settings import DraySettings

_log = get_logger("server")


async def serve_http(
    settings: DraySettings,
    context: ProcessContext,
    stores: Stores,
    stopping: AsyncExitStack,
    *,
    access: UserAccess | None,
    tls: ListenerTls | None,
    metrics: NetMetrics,
) -> str:
    """Serve health and metrics until the stop; returns the address as the setting has it."""
    found = HttpAddress.parse(settings.broker.http)
    if found.is_exposed:
        _log.warning(
            "http_without_tls",
            address=str(found),
            reason="passwords, tokens and metrics cross the network unencrypted",
            remedy=f"https://{found.address} in broker.http, with tls.certificate_file",
        )
    server = HttpServer(
        health_routes(store_checks(stores), context.metrics),
        access,
        clock=context.clock,
        tasks=context.tasks,
        metrics=metrics,
    )
    port = await server.start(*found.address, tls)
    stopping.push_async_callback(server.stop)
    return str(found._replace(address=found.address._replace(port=port)))


def http_access(
    settings: DraySettings,
    services: Services,
    authentication: Authentication,
    authenticator: Authenticator | None,
) -> UserAccess | None:
    """Return the rule for access to the endpoint; None if it is open."""
    host = HttpAddress.parse(settings.broker.http).address.host
    if is_loopback(host) or settings.broker.insecure:
        return None
    return UserAccess(
        authenticator,
        partial(_may_describe, services),
        delay_s=settings.sasl.connection_failed_authentication_delay_ms / 1000,
        failed=authentication.http_login_failed,
    )


def _may_describe(services: Services, principal: Principal, host: str) -> bool:
    """Return whether a principal may describe the cluster."""
    caller = Caller(principal, host, "", "HTTP")
    authorizer = None if services.acls is None else services.acls.authorizer
    return Access(authorizer, caller, services.audit).allows_on_cluster(Operation.DESCRIBE)
