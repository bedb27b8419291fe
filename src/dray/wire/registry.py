"""All APIs of Kafka 4.3 that clients speak, by key."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dray.wire.api import Api
from dray.wire.apis.every import EVERY
from dray.wire.faults import UnknownApi

APIS: Final[Mapping[int, Api]] = MappingProxyType({api.key: api for api in EVERY})


def api_of(key: int) -> Api:
    """Return the API with this key; `UnknownApi` if there is none."""
    api = APIS.get(key)
    if api is None:
        raise UnknownApi(key)
    return api
