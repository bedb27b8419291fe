"""Records of bulk loads in the metadata store, each changed only as it was last read."""

from dataclasses import dataclass

import msgspec

from dray.ids import Domain, LoadId, MetaDomain
from dray.index.loads import Load, LoadState, decode_load, encode_load
from dray.keyspace import load_key, log_domain
from dray.log.errors import NotStored
from dray.meta.port import ABSENT, Check, Conflict, Delete, MetaStore, Put, Version
from dray.runtime import Clock


@dataclass(frozen=True, slots=True)
class StoredLoad:
    """A load's record as it was read in one of its domains."""

    load_id: LoadId
    domain: MetaDomain
    load: Load
    version: Version

    @property
    def key(self) -> str:
        return load_key(self.domain, self.load_id)


class LoadRecords:
    """Reads and changes the records."""

    def __init__(self, meta: MetaStore, clock: Clock) -> None:
        self._meta = meta
        self._clock = clock

    async def read(self, domain: MetaDomain, load_id: LoadId) -> StoredLoad | None:
        key = load_key(domain, load_id)
        stored = await self._meta.get(store_domain(domain), key)
        if stored is None:
            return None
        return StoredLoad(load_id, domain, decode_load(key, stored.value), stored.version)

    async def live(self, domain: MetaDomain, load_id: LoadId) -> StoredLoad:
        """Return the record of a load that is not condemned; raises `NotStored`."""
        stored = await self.read(domain, load_id)
        if stored is None or stored.load.state is LoadState.CONDEMNED:
            raise NotStored(
                "the load ended before it was committed: it was aborted, or it expired; nothing of it is "
                "visible: load it again"
            )
        return stored

    async def make(self, domain: MetaDomain, load_id: LoadId, load: Load) -> None:
        key = load_key(domain, load_id)
        await self._meta.commit(store_domain(domain), [Check(key, ABSENT)], [Put(key, encode_load(load))])

    async def transition(self, stored: StoredLoad, state: LoadState) -> bool:
        """Change a record's state unless another process changed it first; returns whether it was changed."""
        check, put = self.step(stored, state)
        return not isinstance(await self._meta.commit(store_domain(stored.domain), [check], [put]), Conflict)

    def step(self, stored: StoredLoad, state: LoadState) -> tuple[Check, Put]:
        """Return that change as part of a larger commit."""
        after = msgspec.structs.replace(stored.load, state=state, changed_at_ms=self._clock.now_ms())
        return Check(stored.key, stored.version), Put(stored.key, encode_load(after))

    async def forget(self, stored: StoredLoad) -> None:
        """Remove a record if it is unchanged."""
        checks = [Check(stored.key, stored.version)]
        await self._meta.commit(store_domain(stored.domain), checks, [Delete(stored.key)])


def store_domain(domain: MetaDomain) -> Domain:
    return log_domain(domain)
