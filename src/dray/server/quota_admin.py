"""Administration of client quotas in the metadata store, without a broker."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TypeVar

from dray.cluster.quotas import ClientQuotas, StoredQuotas
from dray.index import CorruptValue
from dray.meta.port import MetaStore
from dray.quotas import Entity, EntityFilter, InvalidQuota, altered_limits
from dray.runtime import SystemClock
from dray.server.access import inspect_metadata
from dray.server.command_audit import audited
from dray.server.errors import StartupError
from dray.settings import DraySettings

T = TypeVar("T")
_EVERYTHING = EntityFilter({}, set(), strict=False)


def set_quotas(settings: DraySettings, entity: Entity, limits: Mapping[str, float | None]) -> None:
    """Set limits of an entity; None removes one."""
    change = partial(altered_limits, entity, changes=list(limits.items()))
    subject = f"{entity} {' '.join(f'{key}={limit}' for key, limit in limits.items())}"
    with audited(settings.logging, "dray quotas", [subject]):
        _with_quotas(settings, lambda quotas: quotas.alter(entity, change))


def list_quotas(settings: DraySettings) -> list[StoredQuotas]:
    async def read(quotas: ClientQuotas) -> list[StoredQuotas]:
        await quotas.refresh_all()
        return sorted(quotas.matching(_EVERYTHING), key=lambda stored: str(stored.entity))

    return _with_quotas(settings, read)


def _with_quotas(settings: DraySettings, work: Callable[[ClientQuotas], Awaitable[T]]) -> T:
    async def run(meta: MetaStore) -> T:
        return await work(ClientQuotas(meta, SystemClock()))

    try:
        return inspect_metadata(settings, run)
    except (CorruptValue, InvalidQuota) as error:
        raise StartupError(str(error)) from error
