"""Fault-injection experiment on compaction: victims are killed or paused in every state of a job.

After each fault the victim is restarted and compaction catches up; then table, stream and objects are checked
with everything running. After each phase all processes are stopped, and the store is swept and checked. In
the end the stream is read from each broker alone, freshly started.
"""

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random

from tests.chaos.compaction.cluster import Cluster, NoProgress, running_cluster
from tests.chaos.compaction.deployments import Deploy
from tests.chaos.compaction.points import KINDS, State, points_of
from tests.chaos.compaction.readers import ReadError, read_everything
from tests.chaos.compaction.rules import equality_violations
from tests.chaos.compaction.victims import ELSEWHERE, VICTIMS, Victim, allows
from tests.chaos.experiment import Figures
from tests.chaos.histories import ProducerHistory
from tests.chaos.rules import violations

_TRIM_PROBABILITY = 0.25
"""Probability that records at the log start are deleted before a fault."""
_TRIM_S = 120.0
_PROGRESS_EVERY = 5


@dataclass(frozen=True, slots=True)
class Phase:
    """A number of faults injected into one victim while jobs are in one state."""

    victim: Victim
    state: State
    times: int
    points: tuple[str, ...] = ()
    """Where to inject them; by default at the points of the state in turn, for both kinds of jobs."""

    def schedule(self) -> list[str]:
        kinds = zip_longest(*(points_of(self.state, kind) for kind in KINDS))
        all_points = dict.fromkeys(point for points in kinds for point in points if point is not None)
        chosen = self.points or [point for point in all_points if allows(self.victim, point)]
        return [chosen[number % len(chosen)] for number in range(self.times)]


@dataclass(frozen=True, slots=True)
class Plan:
    """The faults to inject, and the cluster to inject them into."""

    phases: Sequence[Phase]
    deploy: Deploy
    seed: int = 1
    sweep_between_phases: bool = True
    """Whether to stop, sweep and check after each phase, and not only after the last."""
    program: tuple[str, ...] = ("tests.chaos.compaction.instrumented",)
    """The module to run in place of `dray` as the compactor."""


@dataclass(frozen=True, slots=True)
class Outage:
    """One fault, and the interval in which the victim was down or paused."""

    state: State
    where: str
    since: float
    until: float

    @property
    def cause(self) -> str:
        return self.state if self.where != ELSEWHERE else ELSEWHERE


def run(plan: Plan, directory: Path, report: Callable[[str], None]) -> Figures:
    """Run the experiment, with all local files in `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    outages: list[Outage] = []
    compactors = 2 if any(phase.victim == "second" for phase in plan.phases) else 1
    with (
        plan.deploy(directory) as deployment,
        running_cluster(directory, deployment, compactors, plan.program) as cluster,
    ):
        try:
            outages.extend(_inject_faults(plan, cluster, report))  # keeps those before an error
            histories = _finish(cluster)
        except NoProgress as error:
            cluster.found[f"progress: {error}"] = None
            histories = cluster.histories
        counts = Counter(outage.where for outage in outages)
        report(", ".join(f"{count} {where}" for where, count in counts.items()))
    return Figures(
        faults=Counter(outage.cause for outage in outages),
        acknowledged=sum(len(history.acknowledged) for history in histories),
        during_outages=_during_outages(histories, outages),
        consumed=cluster.seen.count,
        violations=tuple(cluster.violations),
    )


def _inject_faults(plan: Plan, cluster: Cluster, report: Callable[[str], None]) -> Iterator[Outage]:
    random = Random(plan.seed)
    cluster.wait_caught_up()
    for done, phase in enumerate(plan.phases):
        if done and plan.sweep_between_phases:
            cluster.quiesce_and_sweep()
            cluster.restart()
        for number, point in enumerate(phase.schedule(), 1):
            before = cluster.violations
            yield _inject(phase, cluster, point, random)
            for line in (line for line in cluster.violations if line not in before):
                report(f"violation after fault {number}: {line}")
            if number % _PROGRESS_EVERY == 0 or number == phase.times:
                progress = f"{phase.victim}, {phase.state}: {number} of {phase.times}"
                report(f"{progress}, {len(cluster.violations)} violations")


def _inject(phase: Phase, cluster: Cluster, point: str, random: Random) -> Outage:
    if phase.state == "retention":
        cluster.wait("trimmed", lambda: cluster.trim(random, whole_files=True), _TRIM_S)
    elif random.random() < _TRIM_PROBABILITY:
        cluster.trim(random, whole_files=False)
    since = time.monotonic()
    where = VICTIMS[phase.victim](cluster, point, random)
    until = time.monotonic()
    cluster.wait_caught_up()
    cluster.check()
    return Outage(phase.state, where, since, until)


def _finish(cluster: Cluster) -> list[ProducerHistory]:
    """Stop all clients, and check what each broker returns against the histories and the records seen."""
    histories = [producer.finish() for producer in cluster.producers]
    cluster.wait("consumed", cluster.is_consumed)
    for thread in (cluster.tailing, cluster.rereading):
        thread.stopping.set()
        thread.join(60)
        assert not thread.is_alive(), f"the {thread.name} did not stop"
    cluster.quiesce_and_sweep()
    rows = cluster.tables.read().rows
    for broker in cluster.brokers:
        broker.start()
        try:
            stored = read_everything(broker.address)
        except ReadError as error:
            cluster.found[f"readable: {error}"] = None
        else:
            cluster.found |= dict.fromkeys(equality_violations(rows, stored))
            complete = {
                partition: [*cluster.seen.before(partition, records[0][0]), *records]
                for partition, records in stored.items()
            }
            cluster.found |= dict.fromkeys(violations(histories, complete, cluster.seen.records()))
        broker.kill()
    return histories


def _during_outages(histories: Sequence[ProducerHistory], outages: Sequence[Outage]) -> int:
    """Count the records acknowledged while a victim was down or paused."""
    begins = [outage.since for outage in outages]
    count = 0
    for history in histories:
        for ack in history.acknowledged.values():
            last = bisect_right(begins, ack.at) - 1
            count += last >= 0 and ack.at < outages[last].until
    return count
