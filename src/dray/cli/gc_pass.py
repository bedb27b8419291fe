"""One pass over all domains: what is due, and with the deed or without."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dray.cluster.topics import Streams, Topic, Topics
from dray.ids import MetaDomain, StreamId
from dray.index import CorruptValue
from dray.log import LogError, LogSettings
from dray.objects.port import NotFound, ObjectError, ObjectStore
from dray.pipeline.access import OpenCluster
from dray.sweep import DomainSweep, TopicPolicies
from dray.sweep.doomed import Doomed, Why
from dray.sweep.retention import Trim


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The beginning of a partition that retention takes."""

    topic: str
    partition: int
    start: int
    until: int
    came_bytes: int


@dataclass(frozen=True, slots=True)
class Gone:
    """An object that is deleted, or would be."""

    path: str
    why: Why
    size_bytes: int


@dataclass(slots=True)
class Collected:
    """What a pass found."""

    trims: list[GivenUp] = field(default_factory=list)
    objects: list[Gone] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Files that were given up and that only a compactor, who asks the table, can let go."""
    failures: list[str] = field(default_factory=list)


async def gone_through(cluster: OpenCluster, settings: LogSettings, *, dry_run: bool) -> Collected:
    """Go once through everything; raises what the stores raise."""
    topics = Topics(cluster.meta, Streams(_never, _never, _never), cluster.clock, cluster.entropy)
    await topics.start(cluster.tasks)
    policies = TopicPolicies(topics)
    policies.look()
    places = _places(topics.all())
    done = Collected()
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
        done.trims += [_given_up(trim, places) async for trim in sweep.trims()]
        if not dry_run:
            await sweep.run_retention()
        async for doomed in sweep.doomed():
            await _note(doomed, cluster.objects, done, dry_run=dry_run)
        if not dry_run:
            await sweep.run()  # what is no deletion: loads to be finished, records to be forgotten
        done.waiting += [path async for path in sweep.waiting()]
    return done


async def _note(doomed: Doomed, objects: ObjectStore, done: Collected, *, dry_run: bool) -> None:
    try:
        size_bytes = (await objects.head(doomed.path)).size_bytes
    except NotFound:
        size_bytes = 0  # its record is left, and goes with it
    try:
        if dry_run or await doomed.delete():
            done.objects.append(Gone(doomed.path, doomed.why, size_bytes))
    except (CorruptValue, LogError, ObjectError) as error:
        done.failures.append(str(error))


def _places(topics: Sequence[Topic]) -> dict[StreamId, tuple[str, int]]:
    return {
        stream: (topic.name, partition) for topic in topics for partition, stream in enumerate(topic.streams)
    }


def _given_up(trim: Trim, places: dict[StreamId, tuple[str, int]]) -> GivenUp:
    topic, partition = places[trim.stream]
    return GivenUp(topic, partition, trim.start, trim.until, trim.came_bytes)


async def _never(_: StreamId) -> None:
    raise AssertionError("a pass of the sweeps makes and deletes no topics")
