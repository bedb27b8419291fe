"""One garbage-collection pass over all domains, optionally as a dry run."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dray.cluster.topics import Topic, TopicCatalog
from dray.ids import MetaDomain, StreamId
from dray.index import CorruptValue
from dray.log import LogError, LogSettings
from dray.objects.port import NotFound, ObjectError, ObjectStore
from dray.scan.access import OpenCluster
from dray.sweep import DomainSweep, TopicPolicies
from dray.sweep.plan import PendingDeletion, Reason
from dray.sweep.retention import Trim


@dataclass(frozen=True, slots=True)
class ExpiredRange:
    """The beginning of a partition that retention expires."""

    topic: str
    partition: int
    start: int
    until: int
    ingested_bytes: int


@dataclass(frozen=True, slots=True)
class DeletedObject:
    """An object that was deleted, or would be."""

    path: str
    reason: Reason
    size_bytes: int


@dataclass(slots=True)
class GcReport:
    """What a pass expired and deleted, or would have."""

    trims: list[ExpiredRange] = field(default_factory=list)
    objects: list[DeletedObject] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Released files that are kept until a compactor has checked their table."""
    failures: list[str] = field(default_factory=list)


async def run_gc_pass(cluster: OpenCluster, settings: LogSettings, *, dry_run: bool) -> GcReport:
    """Sweep every domain once; raises the errors of the stores."""
    topics = TopicCatalog(cluster.meta, cluster.clock)
    await topics.start(cluster.tasks)
    policies = TopicPolicies(topics)
    policies.refresh()
    partitions = _partitions(topics.all())
    done = GcReport()
    for number in range(cluster.domains):
        sweep = DomainSweep(
            cluster.meta,
            cluster.objects,
            MetaDomain(number),
            domains=cluster.domains,
            clock=cluster.clock,
            settings=settings,
            policy_of=policies.of,
        )
        done.trims += [_expired(trim, partitions) async for trim in sweep.trims()]
        if not dry_run:
            await sweep.run_retention()
        async for pending in sweep.pending_deletions():
            await _delete(pending, cluster.objects, done, dry_run=dry_run)
        if not dry_run:
            await sweep.run()  # everything else: completes loads, and removes expired records
        done.waiting += [path async for path in sweep.waiting()]
    return done


async def _delete(pending: PendingDeletion, objects: ObjectStore, done: GcReport, *, dry_run: bool) -> None:
    try:
        size_bytes = (await objects.head(pending.path)).size_bytes
    except NotFound:
        size_bytes = 0  # only its record is left, and is deleted too
    try:
        if dry_run or await pending.delete():
            done.objects.append(DeletedObject(pending.path, pending.reason, size_bytes))
    except (CorruptValue, LogError, ObjectError) as error:
        done.failures.append(str(error))


def _partitions(topics: Sequence[Topic]) -> dict[StreamId, tuple[str, int]]:
    return {
        stream: (topic.name, partition) for topic in topics for partition, stream in enumerate(topic.streams)
    }


def _expired(trim: Trim, partitions: dict[StreamId, tuple[str, int]]) -> ExpiredRange:
    topic, partition = partitions[trim.stream]
    return ExpiredRange(topic, partition, trim.start, trim.until, trim.ingested_bytes)
