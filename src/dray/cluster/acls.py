"""ACLs of the cluster: one key per resource pattern, followed by every broker.

`AclView` reads: it keeps all ACLs in memory and an `Authorizer` built from them, so that no decision waits
for the store. While the store is unavailable both keep their last state. `AclAdmin` writes.

Nothing here is allowed by mistake: the view has read all ACLs before `start` returns, and a value that cannot
be decoded denies everything that its key is about.
"""

from collections.abc import Iterable, Sequence

import msgspec

from dray.acls import (
    EMPTY_INDEX,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclEntry,
    AclFilter,
    Authorizer,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    super_users,
)
from dray.cluster.settings import SecuritySettings
from dray.cluster.view import Directory, View
from dray.index import CorruptValue
from dray.index.stored import decoded
from dray.keyspace import ACLS_PREFIX, CLUSTER_DOMAIN, acl_key, acl_key_parts, acls_range
from dray.meta.port import ABSENT, Entry, MetaStore, Version
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

_log = get_logger("cluster")
_READ_ONE_BY_ONE_MAX = 16
"""More patterns than these are read with one scan of all."""

_DENY_ALL = AclEntry(WILDCARD_PRINCIPAL, WILDCARD, Operation.ALL, Permission.DENY)


class StoredAcls(msgspec.Struct, frozen=True, array_like=True, tag="acl1"):
    """The ACLs of a resource pattern as they are stored, sorted."""

    pattern: ResourcePattern
    entries: tuple[AclEntry, ...]


class _Known(msgspec.Struct, frozen=True):
    """ACLs as the view has them."""

    acls: StoredAcls
    version: Version
    problem: str | None = None
    """Why the value could not be decoded; the ACLs then deny everything."""


_decoder = msgspec.msgpack.Decoder(StoredAcls)


def pattern_key(pattern: ResourcePattern) -> str:
    return acl_key(pattern.resource_type.name.lower(), pattern.pattern_type.name.lower(), pattern.name)


def _pattern_of(key: str) -> ResourcePattern:
    """Return the pattern whose ACLs the key holds; `CorruptValue` if Dray writes no such key."""
    resource_type, pattern_type, name = acl_key_parts(key)
    try:
        return ResourcePattern(ResourceType[resource_type.upper()], name, PatternType[pattern_type.upper()])
    except KeyError as error:
        raise CorruptValue(f"expected the key of a resource pattern, found {key}; delete it") from error


class AclView:
    """The ACLs as they were a moment ago, kept current by a watch."""

    def __init__(self, meta: MetaStore, settings: SecuritySettings, clock: Clock) -> None:
        directory = Directory(CLUSTER_DOMAIN, ACLS_PREFIX, acls_range(), self._decode)
        self._view: View[_Known] = View(meta, directory, clock)
        self._super_users = super_users(settings.super_users or "")
        self._allow_without_acls = settings.allow_everyone_if_no_acl_found
        self._indexed: dict[ResourcePattern, StoredAcls] = {}
        self._index = EMPTY_INDEX
        self._index_version = self._view.version
        self._authorizer = self._new_authorizer()

    async def start(self, tasks: Tasks) -> None:
        """Start to follow the ACLs; returns once they have been read."""
        await self._view.start(tasks)

    @property
    def authorizer(self) -> Authorizer:
        """The authorizer of the current ACLs; the same object until they change."""
        if self._index_version != self._view.version:
            self._update_index()
        return self._authorizer

    def bindings(self, matching: AclFilter) -> list[AclBinding]:
        """Return the ACLs that match a filter, sorted."""
        return sorted(
            binding
            for known in self._view.values()
            if matching.pattern.matches(known.acls.pattern)
            for binding in (AclBinding(known.acls.pattern, entry) for entry in known.acls.entries)
            if matching.entry.matches(binding.entry)
        )

    async def refresh(self, patterns: Iterable[ResourcePattern]) -> None:
        """Read the ACLs of these patterns now."""
        await self.refresh_keys([pattern_key(pattern) for pattern in patterns])

    async def refresh_keys(self, keys: Sequence[str]) -> None:
        if len(keys) > _READ_ONE_BY_ONE_MAX:
            await self.refresh_all()
            return
        for key in keys:
            await self._view.refresh(key)

    async def refresh_all(self) -> None:
        """Read all ACLs now."""
        await self._view.refresh_all()

    def of_pattern(self, pattern: ResourcePattern) -> tuple[frozenset[AclEntry], Version]:
        """Return the entries of a pattern with the version of their key; raises `CorruptValue`."""
        known = self._view.get(pattern_key(pattern))
        if known is None:
            return frozenset(), ABSENT
        if known.problem is not None:
            raise CorruptValue(known.problem)
        return frozenset(known.acls.entries), known.version

    def _update_index(self) -> None:
        """Index what changed; entries are only compiled for the patterns that did."""
        current = {known.acls.pattern: known.acls for known in self._view.values()}
        changes = {
            pattern: acls.entries
            for pattern, acls in current.items()
            if self._indexed.get(pattern) is not acls and self._indexed.get(pattern) != acls
        }
        gone = self._indexed.keys() - current.keys()
        self._index = self._index.replaced(changes | dict.fromkeys(gone, ()))
        self._indexed, self._index_version = current, self._view.version
        self._authorizer = self._new_authorizer()

    def _new_authorizer(self) -> Authorizer:
        return Authorizer(self._index, self._super_users, allow_without_acls=self._allow_without_acls)

    def _decode(self, entry: Entry) -> _Known:
        """Decode the ACLs of a pattern; corrupt ones, or those of a later version, deny everything."""
        pattern = _pattern_of(entry.key)
        try:
            return _Known(_stored(entry, pattern), entry.version)
        except CorruptValue as error:
            _log.error("corrupt_acls_deny_all", error=str(error))
            return _Known(StoredAcls(pattern, (_DENY_ALL,)), entry.version, str(error))


def _stored(entry: Entry, pattern: ResourcePattern) -> StoredAcls:
    acls = decoded(_decoder, entry.key, entry.value, "ACLs")
    if acls.pattern != pattern:
        raise CorruptValue(f"expected the ACLs of {pattern} at {entry.key}, found those of {acls.pattern}")
    return acls
