"""Which settings each broker of a fleet gets. Pure.

All share the stores; the next broker has the next id, the next port for Kafka (also where it is advertised)
and the next port for HTTP.
"""

from itertools import chain
from typing import Final

from msgspec import structs

from dray.cli.addresses import Address
from dray.cli.failure import WrongUse
from dray.cli.settings import DraySettings
from dray.cli.settings.tree import BROKER_ID_MAX, BrokerSettings
from dray.cli.shared_stores import check_shared

BROKERS_MAX: Final = 64


def plan_fleet(settings: DraySettings, count: int) -> list[DraySettings]:
    """Return the settings of each broker, or raise `WrongUse` if they cannot live beside each other."""
    check_shared(settings)
    try:
        brokers = [_nth(settings.broker, number) for number in range(count)]
    except ValueError as error:
        raise WrongUse(f"{count} brokers: {error}") from error
    _check_apart(brokers)
    return [structs.replace(settings, broker=broker) for broker in brokers]


def _nth(first: BrokerSettings, number: int) -> BrokerSettings:
    if first.id + number > BROKER_ID_MAX:
        raise ValueError(f"there is no broker id behind {BROKER_ID_MAX}; give a smaller --broker-id")
    advertise = first.advertise
    return structs.replace(
        first,
        id=first.id + number,
        listen=_later(first.listen, number),
        advertise=None if advertise is None else _later(advertise, number),
        http=_later(first.http, number),
    )


def _later(address: str, steps: int) -> str:
    return str(Address.parse(address).later(steps))


def _check_apart(brokers: list[BrokerSettings]) -> None:
    """Refuse ports that would be taken twice, for Kafka by one broker and for HTTP by another."""
    taken = [Address.parse(text) for text in chain.from_iterable((one.listen, one.http) for one in brokers)]
    fixed = [address for address in taken if address.port]
    twice = {address.port for address in fixed if fixed.count(address) > 1}
    if twice:
        raise WrongUse(
            f"{len(brokers)} brokers: port {min(twice)} would be used both for Kafka and for HTTP; "
            "give --listen and --http further apart"
        )
