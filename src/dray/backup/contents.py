"""Contents of a backup: every key except ephemeral ones, the cluster record and marks of restores.

Where domains are read at different moments (`meta.port.Snapshot`), their order keeps what refers to another
domain valid:

    topics ─▶ groups ─▶ log domains ─▶ cluster domain

- The heads of a topic are created before its record and condemned after it is deleted. So a topic that is
  saved must exist before the log is read and afterwards: one that was created or deleted in between is left
  out, and one that has grown is saved as it was before. Heads without a topic are harmless.
- A committed offset never exceeds the high watermark of a log that is read later.
- A producer id in the log is lower than the next one to be allocated, which is read later.
- A bulk load commits in several domains. Its records show if only part of that was seen: `TornBackup`.

No other reference between domains depends on the order of the reads.
"""

from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Final

import msgspec

from dray.backup.errors import TornBackup
from dray.cluster.topics import Topic
from dray.formats.backup_v1 import Record
from dray.ids import Domain, LoadId, MetaDomain
from dray.index import CorruptValue
from dray.index.loads import Load, LoadState, decode_load
from dray.keyspace import (
    CLUSTER_DOMAIN,
    CLUSTER_KEY,
    TOPICS_PREFIX,
    group_domains,
    load_of_key,
    loads_range,
    log_domain,
    meta_domain_of,
    restore_key,
)
from dray.meta.port import Entry, Snapshot
from dray.runtime import Clock

_topics: Final = msgspec.msgpack.Decoder(Topic)


def all_domains(domains: int) -> list[Domain]:
    """Return the domains of a cluster in the order in which they are read."""
    return [*group_domains(domains), *map(log_domain, map(MetaDomain, range(domains))), CLUSTER_DOMAIN]


async def contents(
    snapshot: Snapshot, domains: int, clock: Clock
) -> AsyncGenerator[tuple[Domain, list[Record]], None]:
    """Yield all keys to save, page by page; raises `TornBackup` at the end."""
    topics = await _topic_values(snapshot)
    loads = _SeenLoads(clock.now_ms())
    for domain in all_domains(domains):
        left_out = {CLUSTER_KEY, restore_key(domain)}
        async for page in snapshot.read(domain):
            loads.look(domain, page)
            kept = [
                Record(entry.key, topics.get(entry.key, entry.value))
                for entry in page
                if entry.key not in left_out and _is_kept(entry, topics)
            ]
            if kept:
                yield domain, kept
    loads.require_whole()


async def _topic_values(snapshot: Snapshot) -> dict[str, bytes]:
    """Return the topics by key."""
    return {
        entry.key: entry.value
        async for page in snapshot.read(CLUSTER_DOMAIN)
        for entry in page
        if entry.key.startswith(TOPICS_PREFIX)
    }


def _is_kept(entry: Entry, topics: dict[str, bytes]) -> bool:
    if not entry.key.startswith(TOPICS_PREFIX):
        return True
    before = topics.get(entry.key)
    return before == entry.value or (before is not None and _id_of(before) == _id_of(entry.value))


def _id_of(value: bytes) -> bytes | None:
    try:
        return _topics.decode(value).topic_id
    except msgspec.DecodeError:
        return None  # kept as it is, for `verify` to find


class _SeenLoads:
    """The records of bulk loads with several domains, as far as they were read."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._seen: dict[LoadId, dict[MetaDomain, Load]] = {}

    def look(self, domain: Domain, page: list[Entry]) -> None:
        number = meta_domain_of(domain)
        if number is None:
            return
        start, end = loads_range(number)
        for entry in page:
            if start <= entry.key < end:
                with suppress(CorruptValue):  # saved as it is
                    load = decode_load(entry.key, entry.value)
                    if len(load.domains) > 1:
                        self._seen.setdefault(load_of_key(entry.key), {})[number] = load

    def require_whole(self) -> None:
        """Raise `TornBackup` if one domain was read before the commit of a load and another one after it.

        The home domain decides before the others commit, commits last, and forgets a load first, once it has
        expired.
        """
        for load_id, seen in self._seen.items():
            known = next(iter(seen.values()))
            home = seen.get(known.home)
            others = {load.state for number, load in seen.items() if number != known.home}
            if home is None:
                torn = LoadState.COMMITTED in others and known.expires_at_ms > self._now_ms
            elif home.state is LoadState.COMMITTED:
                torn = LoadState.OPEN in others
            else:
                torn = home.state is LoadState.OPEN and LoadState.COMMITTED in others
            if torn:
                raise TornBackup(f"bulk load {load_id.hex()} was committed during the backup; try again")
