"""Configs of groups: one key per group, cached by every broker.

As in Kafka, a group need not exist to have configs, and keeps them when it is deleted. Every heartbeat needs
the limits of its group, so they are computed once, when the configs are read.
"""

from collections.abc import Callable, Mapping

import msgspec

from dray.cluster.config_values import InvalidConfig
from dray.cluster.group_config_keys import own_limits
from dray.cluster.view import Directory, View
from dray.groups.limits import GroupLimits
from dray.index import CorruptValue
from dray.index.stored import decoded
from dray.keyspace import CLUSTER_DOMAIN, GROUP_CONFIGS_PREFIX, group_configs_key, group_configs_range
from dray.meta.port import ABSENT, Check, Conflict, Delete, Entry, MetaStore, Put, Write
from dray.runtime import Clock, Tasks

_encoder = msgspec.msgpack.Encoder()


class StoredGroupConfigs(msgspec.Struct, frozen=True, array_like=True, tag="gc1"):
    """The configs that are set for a group, as text."""

    group_id: str
    configs: dict[str, str]


class _Known(msgspec.Struct, frozen=True):
    """Configs as stored, and the limits that follow from them."""

    stored: StoredGroupConfigs
    limits: GroupLimits


_decoder = msgspec.msgpack.Decoder(StoredGroupConfigs)


class GroupConfigs:
    """The configs of all groups."""

    def __init__(self, meta: MetaStore, limits: GroupLimits, clock: Clock) -> None:
        self.limits = limits
        """The limits of a group without configs."""
        self._meta = meta
        directory = Directory(CLUSTER_DOMAIN, GROUP_CONFIGS_PREFIX, group_configs_range(), self._decode)
        self._view: View[_Known] = View(meta, directory, clock)

    async def start(self, tasks: Tasks) -> None:
        await self._view.start(tasks)

    def limits_of(self, group_id: str) -> GroupLimits:
        """Return the limits of a group; the same object until a config changes."""
        known = self._view.get(group_configs_key(group_id))
        return self.limits if known is None else known.limits

    def find(self, group_id: str) -> Mapping[str, str]:
        """Return the configs of a group as they were a moment ago."""
        known = self._view.get(group_configs_key(group_id))
        return {} if known is None else known.stored.configs

    def names(self) -> list[str]:
        """Return the names of the groups that have configs."""
        return sorted(known.stored.group_id for known in self._view.values())

    async def fresh(self, group_id: str) -> Mapping[str, str]:
        """Return the configs of a group as they are now."""
        known = await self._view.refresh(group_configs_key(group_id))
        return {} if known is None else known.stored.configs

    async def configure(
        self, group_id: str, change: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> None:
        """Replace the configs by what `change` returns for them; it may be called more than once."""
        key = group_configs_key(group_id)
        while True:
            entry = await self._meta.get(CLUSTER_DOMAIN, key)  # the view hides a corrupt value
            old = {} if entry is None else self._decode(entry).stored.configs
            new = dict(change(old))
            if new == old:
                return
            stored = StoredGroupConfigs(group_id, new)
            write: Write = Put(key, _encoder.encode(stored)) if new else Delete(key)
            check = Check(key, ABSENT if entry is None else entry.version)
            result = await self._meta.commit(CLUSTER_DOMAIN, [check], [write])
            await self._view.refresh(key)
            if not isinstance(result, Conflict):
                return

    def _decode(self, entry: Entry) -> _Known:
        stored = decoded(_decoder, entry.key, entry.value, "configs of a group")
        try:
            limits = own_limits(stored.configs, self.limits)
        except InvalidConfig as error:
            raise CorruptValue(f"{entry.key} holds an invalid config: {error}") from error
        return _Known(stored, limits)
