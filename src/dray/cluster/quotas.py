"""Client quotas: one key per entity, cached by every broker.

As in Kafka, what an entity names need not exist, and limits are those of each broker by itself.
"""

from collections.abc import Callable, Mapping

import msgspec

from dray.cluster.view import Directory, View
from dray.index.stored import decoded
from dray.keyspace import CLIENT_QUOTAS_PREFIX, CLUSTER_DOMAIN, client_quotas_key, client_quotas_range
from dray.meta.port import ABSENT, Check, Conflict, Delete, Entry, MetaStore, Put, Write
from dray.quotas import IP, AddressShare, Entity, EntityFilter, QuotaKey, address_share_of
from dray.runtime import Clock, Tasks


class StoredQuotas(msgspec.Struct, frozen=True, array_like=True, tag="cq1"):
    """The quotas of an entity."""

    parts: tuple[tuple[str, str | None], ...]
    """Types and names, sorted by type; without a name it is the default of the type."""
    limits: dict[str, float]

    @property
    def entity(self) -> Entity:
        return Entity(self.parts)


Limits = Mapping[Entity, float]
"""The limits of one key."""
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(StoredQuotas)


class ClientQuotas:
    """The quotas of all entities."""

    def __init__(self, meta: MetaStore, clock: Clock) -> None:
        self.limits_clients = False
        """Whether there are quotas of users or client ids: the one test that a request costs without any."""
        self.limits_addresses = False
        """Whether there are quotas of IP addresses."""
        self.version = 0
        """A number that changes with every change of the quotas."""
        self._limits: dict[str, dict[Entity, float]] = {}
        self._meta = meta
        directory = Directory(CLUSTER_DOMAIN, CLIENT_QUOTAS_PREFIX, client_quotas_range(), _decode)
        self._view: View[StoredQuotas] = View(meta, directory, clock, self._update)

    async def start(self, tasks: Tasks) -> None:
        await self._view.start(tasks)

    async def refresh_all(self) -> None:
        """Read all quotas now."""
        await self._view.refresh_all()

    def matching(self, wanted: EntityFilter) -> list[StoredQuotas]:
        """Return the quotas of the entities that match, as they were a moment ago."""
        return [stored for stored in self._view.values() if wanted.matches(stored.entity)]

    def limits(self, key: QuotaKey) -> Limits:
        """Return the limits of a key."""
        return self._limits.get(key, {})

    def connection_rate_of(self, address: str) -> AddressShare | None:
        """Return how many connections a second an IP address may open, and which addresses count together."""
        return address_share_of(self.limits(QuotaKey.CONNECTION_CREATION_RATE), address)

    async def alter(
        self, entity: Entity, change: Callable[[Mapping[str, float]], Mapping[str, float]]
    ) -> None:
        """Replace the limits by what `change` returns for them; it may be called more than once."""
        key = client_quotas_key(entity.parts)
        while True:
            entry = await self._meta.get(CLUSTER_DOMAIN, key)  # the view hides a corrupt value
            old = {} if entry is None else _decode(entry).limits
            new = dict(change(old))
            if new == old:
                return
            write: Write = Put(key, _encoder.encode(StoredQuotas(entity.parts, new))) if new else Delete(key)
            check = Check(key, ABSENT if entry is None else entry.version)
            result = await self._meta.commit(CLUSTER_DOMAIN, [check], [write])
            await self._view.refresh(key)
            if not isinstance(result, Conflict):
                return

    def _update(self) -> None:
        """Sort the limits by key after a change."""
        limits: dict[str, dict[Entity, float]] = {}
        for stored in self._view.values():
            for key, limit in stored.limits.items():
                limits.setdefault(key, {})[stored.entity] = limit
        entities = [stored.entity.names for stored in self._view.values()]
        self._limits = limits
        self.limits_clients = any(IP not in names for names in entities)
        self.limits_addresses = any(IP in names for names in entities)
        self.version += 1


def _decode(entry: Entry) -> StoredQuotas:
    return decoded(_decoder, entry.key, entry.value, "quotas of an entity")
