"""Settings for each of several brokers on one machine. Pure.

All share the stores. Each broker has the next Kafka port (also the next advertised one), HTTP port, and id if
one is configured.
"""

from typing import Final

from msgspec import structs

from dray.cluster.addresses import Address
from dray.net.endpoints import HttpAddress, with_port_offset
from dray.server.errors import ConfigurationError
from dray.server.listeners import check_listeners, plans_of
from dray.server.store_urls import check_shared
from dray.settings import DraySettings
from dray.settings.tree import BROKER_ID_MAX, BrokerSettings

BROKERS_MAX: Final = 64


def plan_brokers(settings: DraySettings, count: int) -> list[DraySettings]:
    """Return the settings of each broker; raises `ConfigurationError` if they would collide."""
    check_shared(settings)
    check_listeners(settings)
    try:
        brokers = [_nth(settings.broker, number) for number in range(count)]
    except ValueError as error:
        raise ConfigurationError(f"{count} brokers: {error}") from error
    _check_ports(brokers)
    return [structs.replace(settings, broker=broker) for broker in brokers]


def _nth(first: BrokerSettings, number: int) -> BrokerSettings:
    broker_id = None if first.id is None else first.id + number
    if broker_id is not None and broker_id > BROKER_ID_MAX:
        raise ValueError(f"the highest broker id is {BROKER_ID_MAX}; choose a smaller --broker-id")
    advertise, http = first.advertise, HttpAddress.parse(first.http)
    return structs.replace(
        first,
        id=broker_id,
        listen=with_port_offset(first.listen, "listen", number),
        advertise=None if advertise is None else with_port_offset(advertise, "advertise", number),
        http=str(http._replace(address=http.address.with_port_offset(number))),
    )


def _check_ports(brokers: list[BrokerSettings]) -> None:
    """Refuse a port that two listeners would use, or one broker for Kafka and another for HTTP."""
    kafka = [plan.listen for one in brokers for plan in plans_of(one)]
    for purpose, taken in (
        ("by two listeners", kafka),
        ("both for Kafka and for HTTP", kafka + _http(brokers)),
    ):
        fixed = [address for address in taken if address.port]
        twice = {address.port for address in fixed if fixed.count(address) > 1}
        if twice:
            raise ConfigurationError(
                f"{len(brokers)} brokers: port {min(twice)} would be used {purpose}; "
                "choose ports that are further apart with --listen and --http"
            )


def _http(brokers: list[BrokerSettings]) -> list[Address]:
    return [HttpAddress.parse(broker.http).address for broker in brokers]
