"""What configs can belong to, as Kafka numbers it, and the rules for naming a broker."""

from enum import IntEnum

from dray.api.errors import Refused
from dray.wire import ErrorCode


class ResourceType(IntEnum):
    """Kinds of things that have configs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


def resource_type(number: int) -> ResourceType | None:
    try:
        return ResourceType(number)
    except ValueError:
        return None


def broker_id(name: str) -> int:
    """Read the name of a broker resource."""
    if not name.removeprefix("-").isdecimal():
        raise Refused(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    return int(name)
