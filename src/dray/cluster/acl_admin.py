"""ACL administration: bindings are created and deleted by commits that check what they were planned from.

As in Kafka, all changes of a request are made at once, unless they exceed what the metadata store accepts
in one commit; then each commit is atomic. A request that failed may be repeated: what exists is not created
again.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from dray.acls import AclBinding, AclEntry, AclFilter, ResourcePattern
from dray.cluster.acls import AclView, StoredAcls, pattern_key
from dray.keyspace import CLUSTER_DOMAIN
from dray.meta.port import Check, CommitLimits, Conflict, Delete, MetaStore, Put, Write
from dray.meta.rules import fits

_NEW_MAX: Final = 10_000
"""The most ACLs that a request may create; Kafka's limit, with Kafka's message."""

_encoder = msgspec.msgpack.Encoder()


class TooManyAcls(Exception):
    """The request exceeds a limit; nothing was changed."""


class _Change(NamedTuple):
    """New entries of a pattern, as a check and a write of its key."""

    check: Check
    write: Write
    added: frozenset[AclBinding]
    removed: frozenset[AclBinding]


class AclAdmin:
    """Changes ACLs; its view shows each change as soon as the call returns."""

    def __init__(self, view: AclView, meta: MetaStore) -> None:
        self.view = view
        self._meta = meta

    async def create(self, bindings: Iterable[AclBinding]) -> None:
        """Create the bindings that do not exist yet; raises `TooManyAcls`."""
        wanted = _by_pattern(bindings)
        committed = False
        while not committed:
            await self.view.refresh(wanted)
            changes = [self._change(pattern, added=entries) for pattern, entries in wanted.items()]
            changes = [change for change in changes if change.added]
            if sum(len(change.added) for change in changes) > _NEW_MAX:
                raise TooManyAcls("Unable to perform excessively large batch operation.")
            committed = await self._commit(changes, set())

    async def delete(self, filters: Sequence[AclFilter]) -> list[list[AclBinding]]:
        """Delete all bindings that match a filter; returns for each filter those that were deleted."""
        deleted: set[AclBinding] = set()
        committed = False
        while not committed:
            await self.view.refresh_all()
            matching = {binding for one in filters for binding in self.view.bindings(one)}
            changes = [
                self._change(pattern, removed=entries) for pattern, entries in _by_pattern(matching).items()
            ]
            committed = await self._commit(changes, deleted)
        return [sorted(filter(one.matches, deleted)) for one in filters]

    def _change(
        self,
        pattern: ResourcePattern,
        *,
        added: frozenset[AclEntry] = frozenset(),
        removed: frozenset[AclEntry] = frozenset(),
    ) -> _Change:
        old, version = self.view.of_pattern(pattern)
        new = tuple(sorted((old | added) - removed))
        key = pattern_key(pattern)
        write = Put(key, _encoder.encode(StoredAcls(pattern, new))) if new else Delete(key)
        return _Change(
            Check(key, version),
            write,
            frozenset(AclBinding(pattern, entry) for entry in added - old),
            frozenset(AclBinding(pattern, entry) for entry in old & removed),
        )

    async def _commit(self, changes: Sequence[_Change], deleted: set[AclBinding]) -> bool:
        """Make changes in as few commits as possible; returns false after a conflict.

        What has been deleted is added to `deleted`, also if a later commit has a conflict.
        """
        for together in list(_commits(changes, self._meta.limits)):
            result = await self._meta.commit(
                CLUSTER_DOMAIN, [change.check for change in together], [change.write for change in together]
            )
            if isinstance(result, Conflict):
                return False
            deleted.update(*(change.removed for change in together))
            await self.view.refresh_keys([change.write.key for change in together])
        return True


def _by_pattern(bindings: Iterable[AclBinding]) -> dict[ResourcePattern, frozenset[AclEntry]]:
    entries: dict[ResourcePattern, set[AclEntry]] = {}
    for binding in bindings:
        entries.setdefault(binding.pattern, set()).add(binding.entry)
    return {pattern: frozenset(found) for pattern, found in entries.items()}


def _commits(changes: Sequence[_Change], limits: CommitLimits) -> Iterator[list[_Change]]:
    """Yield the changes of each commit; raises `TooManyAcls` for a pattern that exceeds the limits alone."""
    together: list[_Change] = []
    for change in changes:
        if not fits(limits, [change.check], [change.write]):
            raise TooManyAcls(
                f"{change.write.key} would have more ACLs than the metadata store accepts in one value "
                f"({limits.bytes_max} bytes); use prefixes or fewer principals"
            )
        extended = [*together, change]
        if fits(limits, [one.check for one in extended], [one.write for one in extended]):
            together = extended
            continue
        yield together
        together = [change]
    if together:
        yield together
