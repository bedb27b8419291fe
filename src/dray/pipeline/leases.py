"""One compactor at a time for each topic: a key that lives as long as the process that put it.

A lease only spares work that would be in vain. A process that is halted may go on after it lost its lease;
that it does no harm then is due to the checks on the jobs' records.
"""

from contextlib import suppress

from dray.cluster.keys import CLUSTER_DOMAIN
from dray.index import lease_key
from dray.meta.port import ABSENT, Check, Conflict, Delete, MetaError, MetaStore, Put, Session


class Leases:
    """The leases of one process."""

    def __init__(self, meta: MetaStore, holder: str, ttl_ms: int) -> None:
        self._meta = meta
        self._holder = holder
        self._ttl_ms = ttl_ms
        self._session: Session | None = None

    async def take(self, topic_id: bytes) -> bool:
        """Take the lease of a topic unless another process has it.

        One of our own is there if nobody knows what came of an attempt to take it or to give it back.
        """
        if self._session is None or not self._session.alive:
            self._session = await self._meta.session(self._ttl_ms)
        key = lease_key(topic_id)
        stored = await self._meta.get(CLUSTER_DOMAIN, key)
        if stored is not None and stored.value != self._holder.encode():
            return False
        check = Check(key, ABSENT if stored is None else stored.version)
        put = Put(key, self._holder.encode(), self._session.id)
        taken = await self._meta.commit(CLUSTER_DOMAIN, [check], [put])
        return not isinstance(taken, Conflict)

    async def release(self, topic_id: bytes) -> None:
        """Give back a lease that was taken."""
        key = lease_key(topic_id)
        stored = await self._meta.get(CLUSTER_DOMAIN, key)
        if stored is not None and stored.value == self._holder.encode():
            await self._meta.commit(CLUSTER_DOMAIN, [Check(key, stored.version)], [Delete(key)])

    async def close(self) -> None:
        """Give back all of them; what the store does not take now runs out by itself."""
        if self._session is not None:
            with suppress(MetaError):
                await self._session.close()
