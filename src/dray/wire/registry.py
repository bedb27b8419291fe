"""All APIs of Kafka 4.3 that clients use, by key.

A module with messages is imported when its API is first looked up: a broker serves half of them, and those it
names itself.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final

from dray.wire.api import Api
from dray.wire.apis.modules import MODULES
from dray.wire.errors import UnknownApi


@cache
def api_of(key: int) -> Api:
    """Return the API with this key; raises `UnknownApi` if there is none."""
    name = MODULES.get(key)
    if name is None:
        raise UnknownApi(key)
    api: Api = getattr(import_module(f"dray.wire.apis.{name}"), name.upper())
    return api


class _Apis(Mapping[int, Api]):
    def __getitem__(self, key: int) -> Api:
        try:
            return api_of(key)
        except UnknownApi:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[int]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


APIS: Final[Mapping[int, Api]] = _Apis()
