"""The configs of groups: one key a group, kept in memory by every broker.

A group need not exist to have configs, and keeps them when it is deleted, as in Kafka. Every heartbeat asks
for its group's limits, so those are worked out once, when the configs are read, and not when they are asked
for.
"""

from collections.abc import Callable, Mapping

import msgspec

from dray.cluster.config_values import InvalidConfig
from dray.cluster.group_config_keys import own_limits
from dray.cluster.keys import (
    CLUSTER_DOMAIN,
    GROUP_CONFIGS_PREFIX,
    group_configs_key,
    group_configs_range,
)
from dray.cluster.stored import decoded
from dray.cluster.view import Directory, View
from dray.groups.limits import GroupLimits
from dray.index import CorruptValue
from dray.meta.port import ABSENT, Check, Conflict, Delete, Entry, MetaStore, Put, Write
from dray.runtime import Clock, Tasks

_encoder = msgspec.msgpack.Encoder()


class _Stored(msgspec.Struct, frozen=True, array_like=True, tag="gc1"):
    """What was set for a group, as text."""

    group_id: str
    configs: dict[str, str]


class _Known(msgspec.Struct, frozen=True):
    """Configs as they were read, and what they come to."""

    stored: _Stored
    limits: GroupLimits


_decoder = msgspec.msgpack.Decoder(_Stored)


class GroupConfigs:
    """What was set for which group."""

    def __init__(self, meta: MetaStore, limits: GroupLimits, clock: Clock) -> None:
        self.limits = limits
        """Those of a group for which nothing was set."""
        self._meta = meta
        directory = Directory(CLUSTER_DOMAIN, GROUP_CONFIGS_PREFIX, group_configs_range(), self._decode)
        self._view: View[_Known] = View(meta, directory, clock)

    async def start(self, tasks: Tasks) -> None:
        await self._view.start(tasks)

    def limits_of(self, group_id: str) -> GroupLimits:
        """Return the limits of a group: the same object as long as nothing is changed."""
        known = self._view.get(group_configs_key(group_id))
        return self.limits if known is None else known.limits

    def find(self, group_id: str) -> Mapping[str, str]:
        """Return what was set for a group, as it was a moment ago."""
        known = self._view.get(group_configs_key(group_id))
        return {} if known is None else known.stored.configs

    def names(self) -> list[str]:
        """Return the groups for which something was set."""
        return sorted(known.stored.group_id for known in self._view.values())

    async def fresh(self, group_id: str) -> Mapping[str, str]:
        """Return what is set for a group now."""
        known = await self._view.refresh(group_configs_key(group_id))
        return {} if known is None else known.stored.configs

    async def configure(
        self, group_id: str, change: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> None:
        """Replace the configs by what `change` makes of them; it may be called more than once."""
        key = group_configs_key(group_id)
        while True:
            entry = await self._meta.get(CLUSTER_DOMAIN, key)  # the view shows nothing where it cannot read
            old = {} if entry is None else self._decode(entry).stored.configs
            new = dict(change(old))
            if new == old:
                return
            write: Write = Put(key, _encoder.encode(_Stored(group_id, new))) if new else Delete(key)
            check = Check(key, ABSENT if entry is None else entry.version)
            result = await self._meta.commit(CLUSTER_DOMAIN, [check], [write])
            await self._view.refresh(key)
            if not isinstance(result, Conflict):
                return

    def _decode(self, entry: Entry) -> _Known:
        stored = decoded(_decoder, entry, "configs of a group")
        try:
            limits = own_limits(stored.configs, self.limits)
        except InvalidConfig as error:
            raise CorruptValue(f"{entry.key} holds a config that cannot be: {error}") from error
        return _Known(stored, limits)
