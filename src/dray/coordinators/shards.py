"""All groups of the cluster on one broker: a shard for each group that exists, kept current by the watch.

Any broker serves any group. One of them is its owner broker: it runs the group's own timers and takes over
the members of brokers that died. Brokers agree on the owner without messages, by rendezvous hashing over the
registered brokers. If two disagree for a moment, no harm is done, since every change is checked against the
store.
"""

import asyncio
from functools import partial

from dray.cluster.zones import preferred
from dray.coordinators.context import CoordinatorContext, CoordinatorDeps
from dray.coordinators.group_store import GroupStore, VersionedGroup, decoded
from dray.coordinators.metrics import GroupGauges
from dray.coordinators.shard import GroupShard
from dray.groups.stored import CorruptGroup, Group, Tombstone
from dray.ids import Domain
from dray.keyspace import GROUPS_PREFIX, group_domain, group_domains, group_of, groups_range
from dray.meta.port import ChangeBatch, Entry
from dray.meta.reading import follow
from dray.observe import get_logger
from dray.runtime import Timers

_MAINTENANCE_S = 0.5
_log = get_logger("groups")


class GroupShards:
    """Opens, updates and drops shards."""

    def __init__(self, deps: CoordinatorDeps, store: GroupStore) -> None:
        self._deps = deps
        self._context = CoordinatorContext(
            deps.broker_id,
            store,
            deps.topics,
            deps.limits_of,
            self.owns,
            deps.clock,
            deps.tasks,
            Timers(deps.clock, deps.tasks, name="group-timer"),
            deps.metrics,
            GroupGauges(deps.metrics),
        )
        self._shards: dict[str, GroupShard] = {}
        self._unwatched = set(group_domains(deps.domains))
        """Domains whose changes are not reported at the moment."""
        self._watching = asyncio.Event()
        self._owned: dict[str, bool] = {}
        self._owned_at = deps.brokers.version
        """The version of the view of brokers that `_owned` was computed from."""
        self._maintenance: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to watch all groups; returns once they have been read."""
        deps = self._deps
        for domain in group_domains(deps.domains):
            following = follow(
                deps.meta,
                domain,
                GROUPS_PREFIX,
                deps.clock,
                take=partial(self._take, domain),
                lost=partial(self._unwatched.add, domain),
            )
            deps.tasks.start(following, name="groups")
        await self._watching.wait()
        self._maintenance = deps.tasks.every(
            _MAINTENANCE_S, self._maintain, name="maintain-groups", clock=deps.clock
        )

    def close(self) -> None:
        """Close all shards, and stop maintenance and timers."""
        if self._maintenance is not None:
            self._maintenance.cancel()
        self._context.timers.stop()
        for shard in self._shards.values():
            shard.close()

    def get(self, group_id: str) -> GroupShard:
        """Return the shard of a group, which need not exist.

        Its group is read again if it may have changed without notice: while the domain is not watched, and
        while this broker is not registered. A watch may take longer to fail than others to take over.
        """
        shard = self._shards.get(group_id)
        if shard is None:
            shard = self._shards[group_id] = GroupShard(group_id, self._context)
        if not self._deps.is_registered() or self._is_unwatched(group_id):
            shard.invalidate()
        return shard

    def _is_unwatched(self, group_id: str) -> bool:
        return bool(self._unwatched) and group_domain(group_id, self._deps.domains) in self._unwatched

    def find(self, group_id: str) -> GroupShard | None:
        """Return the shard of a group if there is one."""
        return self._shards.get(group_id)

    def all(self) -> list[tuple[str, Group]]:
        """Return all groups, possibly slightly stale, by name."""
        known = ((shard.group_id, shard.group) for shard in self._shards.values())
        return sorted((name, group) for name, group in known if group is not None)

    def owns(self, group_id: str) -> bool:
        """Return whether this broker owns a group."""
        brokers = self._deps.brokers
        if brokers.version != self._owned_at:
            self._owned_at = brokers.version
            self._owned.clear()
        owned = self._owned.get(group_id)
        if owned is None:
            alive, me = brokers.all(), self._deps.broker_id
            owned = not alive or preferred(alive, group_id.encode()).broker_id == me
            self._owned[group_id] = owned
        return owned

    def owned_groups(self) -> list[str]:
        return [group_id for group_id in self._shards if self.owns(group_id)]

    # Watching the store

    async def _take(self, domain: Domain, batch: ChangeBatch, missed: bool) -> None:
        if missed:
            await self._read_all(domain)
            self._unwatched.discard(domain)
            if not self._unwatched:
                self._watching.set()
            return
        for change in batch.changes:
            self.get(group_of(change.key)).mark_changed(change.version)

    async def _read_all(self, domain: Domain) -> None:
        entries = await self._deps.meta.scan(domain, *groups_range())
        stored = {group_of(entry.key): entry for entry in entries}
        for group_id, entry in stored.items():
            if group_id in self._shards:
                self._shards[group_id].mark_changed(entry.version)
            else:
                self._open(group_id, entry)
        for group_id, shard in list(self._shards.items()):
            if group_id not in stored and group_domain(group_id, self._deps.domains) == domain:
                shard.invalidate()

    def _open(self, group_id: str, entry: Entry) -> None:
        """Open the shard of a group that was read. A corrupt group has none until a client asks for it."""
        try:
            group = decoded(entry)
        except CorruptGroup as error:
            _log.error("group_corrupt", error=str(error))
            return
        if isinstance(group, Tombstone):
            self.get(group_id).invalidate()  # reading it finishes the deletion
            return
        known = VersionedGroup(group, entry.version)
        self._shards[group_id] = GroupShard(group_id, self._context, known)
        self._context.gauges.add_existing(group_id, group)

    # Maintenance

    async def _maintain(self) -> None:
        alive = frozenset(broker.broker_id for broker in self._deps.brokers.all())
        alive |= {self._deps.broker_id}
        for shard in list(self._shards.values()):
            shard.maintain(alive)
            if shard.idle:  # so that requests for groups that do not exist leave nothing behind
                del self._shards[shard.group_id]
                self._owned.pop(shard.group_id, None)
