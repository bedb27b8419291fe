"""Groups and their committed offsets: undecodable values, and offsets of partitions that do not exist."""

from collections.abc import AsyncIterator

from dray.check.deps import CheckDeps, Owners
from dray.check.findings import Finding
from dray.check.other_findings import OffsetsWithoutTopic, Undecodable
from dray.groups.stored import CorruptGroup, decode_group, decode_offset
from dray.groups.types import CommittedOffset
from dray.ids import Domain
from dray.keyspace import (
    all_offsets_range,
    group_domains,
    group_of_offset,
    groups_range,
    offset_key,
    partition_of,
)
from dray.meta.port import Check, Entry
from dray.meta.reading import scan_all


class GroupCheck:
    """Checks the groups of all domains."""

    def __init__(self, deps: CheckDeps) -> None:
        self._deps = deps

    async def run(self, owners: Owners) -> AsyncIterator[Finding]:
        topics = _partitions(owners)
        for domain in group_domains(self._deps.domains):
            async for stored in scan_all(self._deps.meta, domain, groups_range()):
                try:
                    decode_group(stored.value)
                except CorruptGroup as error:
                    yield _undecodable(domain, stored, error)
            async for finding in self._offsets(domain, topics, owners):
                yield finding

    async def _offsets(
        self, domain: Domain, topics: dict[str, tuple[bytes, int]], owners: Owners
    ) -> AsyncIterator[Finding]:
        """Yield one finding for each group and topic, whose offsets are adjacent keys."""
        place, partitions = ("", ""), list[int]()
        async for stored in scan_all(self._deps.meta, domain, all_offsets_range()):
            try:
                offset = decode_offset(stored.value)
            except CorruptGroup as error:
                yield _undecodable(domain, stored, error)
                continue
            topic, partition = partition_of(stored.key)
            if not owners.are_complete or _exists(topics, topic, partition, offset):
                continue
            here = (group_of_offset(stored.key), topic)
            if here != place and partitions:
                yield _without_topic(domain, place, partitions)
                partitions = []
            place = here
            partitions.append(partition)
        if partitions:
            yield _without_topic(domain, place, partitions)

    async def still(self, finding: OffsetsWithoutTopic, owners: Owners) -> OffsetsWithoutTopic | None:
        """Return what is left of a finding with the current offsets and topics."""
        topics, left = _partitions(owners), list[int]()
        for partition in finding.partitions:
            key = offset_key(finding.group, finding.topic, partition)
            stored = await self._deps.meta.get(finding.domain, key)
            if stored is not None and not _exists(
                topics, finding.topic, partition, decode_offset(stored.value)
            ):
                left.append(partition)
        return _without_topic(finding.domain, (finding.group, finding.topic), left) if left else None


def _partitions(owners: Owners) -> dict[str, tuple[bytes, int]]:
    """Return the id and the number of partitions of each topic."""
    found: dict[str, tuple[bytes, int]] = {}
    for owner in owners.of.values():
        _, count = found.get(owner.topic.name, (b"", 0))
        found[owner.topic.name] = (owner.topic.topic_id, max(count, owner.partition + 1))
    return found


def _exists(
    topics: dict[str, tuple[bytes, int]], topic: str, partition: int, offset: CommittedOffset
) -> bool:
    topic_id, count = topics.get(topic, (b"", 0))
    return partition < count and offset.topic_id == topic_id


def _without_topic(domain: Domain, place: tuple[str, str], partitions: list[int]) -> OffsetsWithoutTopic:
    group, topic = place
    return OffsetsWithoutTopic(domain=domain, group=group, topic=topic, partitions=tuple(partitions))


def _undecodable(domain: Domain, stored: Entry, error: CorruptGroup) -> Undecodable:
    check = Check(stored.key, stored.version)
    return Undecodable(domain=domain, checks=(check,), key=stored.key, reason=str(error))
