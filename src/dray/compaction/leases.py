"""Topic leases: at most one compactor works on a topic, as long as its session lives.

A lease only avoids wasted work. A process that stalls may continue after its lease has expired; the version
checks on job records make that harmless.
"""

from contextlib import suppress

from dray.keyspace import CLUSTER_DOMAIN, lease_key
from dray.meta.port import ABSENT, Check, Conflict, Delete, MetaError, MetaStore, Put, Session


class Leases:
    """The leases of one process."""

    def __init__(self, meta: MetaStore, holder: str, ttl_ms: int) -> None:
        self._meta = meta
        self._holder = holder
        self._ttl_ms = ttl_ms
        self._session: Session | None = None

    async def acquire(self, topic_id: bytes) -> bool:
        """Acquire the lease of a topic; returns False if another process holds it.

        A lease of our own is there if the outcome of an earlier acquire or release is unknown.
        """
        if self._session is None or not self._session.alive:
            self._session = await self._meta.session(self._ttl_ms)
        key = lease_key(topic_id)
        stored = await self._meta.get(CLUSTER_DOMAIN, key)
        if stored is not None and stored.value != self._holder.encode():
            return False
        check = Check(key, ABSENT if stored is None else stored.version)
        put = Put(key, self._holder.encode(), self._session.id)
        acquired = await self._meta.commit(CLUSTER_DOMAIN, [check], [put])
        return not isinstance(acquired, Conflict)

    async def release(self, topic_id: bytes) -> None:
        """Release a lease that this process acquired."""
        key = lease_key(topic_id)
        stored = await self._meta.get(CLUSTER_DOMAIN, key)
        if stored is not None and stored.value == self._holder.encode():
            await self._meta.commit(CLUSTER_DOMAIN, [Check(key, stored.version)], [Delete(key)])

    async def close(self) -> None:
        """Release all leases; any that cannot be released now expire with the session."""
        if self._session is not None:
            with suppress(MetaError):
                await self._session.close()
