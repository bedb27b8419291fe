"""Experiment on a cluster: clients work while faults are injected; then everything is checked.

After the last fault all producers flush and both groups commit every record. Then all brokers are killed once
more, and the topics and the committed offsets are read from each of them: nothing may come from memory.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from tests.chaos.cluster import checks, journals
from tests.chaos.cluster.checks import Evidence, Stored
from tests.chaos.cluster.cluster import Clients, Cluster, compaction_command, running_cluster, start_clients
from tests.chaos.cluster.fetching import Incomplete, committed_offsets, read_everything
from tests.chaos.cluster.injection import End, Injector
from tests.chaos.cluster.metadata import Kind
from tests.chaos.cluster.recovery import Injected, Outcome, late, outcomes, stalls
from tests.chaos.cluster.schedule import NAMES, Fault, schedule
from tests.chaos.cluster.security import Security
from tests.chaos.cluster.servers import Server
from tests.chaos.cluster.tables import read_tables, table_violations
from tests.chaos.cluster.topology import BROKERS, TOPICS, kafka
from tests.chaos.groups.rules import ends as ends_of
from tests.oracle.raw import RawError
from tests.oracle.request_client import Unanswered
from tests.spark.processes import becomes_true

Report = Callable[[str], None]
_FLUSH_S: Final = 180.0
_GROUPS_S: Final = 90.0
_READ_S: Final = 300.0
_COMPACTION_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, and how much longer than their bounds recoveries may take on this machine."""

    seed: int
    seconds: float
    kinds: Sequence[str] = NAMES
    compacting: bool = False
    """Whether a compactor runs; it takes as much processor time as all brokers."""
    pause_s: float = 0.01
    """Each producer sends a record to every partition, and then pauses."""
    patience: float = 1.0
    metadata: Kind = "etcd"
    bug: str = ""
    """A bug of `tests.chaos.broken` that brokers have, which the rules must catch."""
    tls: bool = False
    """Whether clients use SASL_SSL, and brokers check ACLs."""


@dataclass(slots=True)
class Findings:
    """What happened and what was found."""

    plan: Plan
    began: float = 0.0
    stopped: float = 0.0
    ended: float = 0.0
    """When the clients had started, when producers were stopped, and when all records were consumed."""
    injected: list[Injected] = field(default_factory=list)
    evidence: Evidence = field(default_factory=lambda: Evidence({}, {}, [], []))
    outcomes: list[Outcome] = field(default_factory=list)
    exits: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


class _Active(NamedTuple):
    """A fault that has begun, and what ends it."""

    fault: Fault
    target: str
    since: float
    end: End


def run(plan: Plan, directory: Path, report: Report) -> Findings:
    """Run the experiment with its files in `directory`; the process must be isolated."""
    findings = Findings(plan)
    with running_cluster(
        directory, plan.seed, compacting=plan.compacting, bug=plan.bug, kind=plan.metadata, tls=plan.tls
    ) as cluster:
        findings.notes.append(cluster.metadata.note)
        clients = start_clients(cluster, plan.pause_s)
        report("cluster and clients are running")
        findings.began = time.monotonic()
        _inject(plan, Injector(cluster), findings, report)
        findings.stopped = time.monotonic()
        report("all faults have ended")
        found = _finish(cluster, clients, directory)
        findings.ended = time.monotonic()
        report("records are acknowledged and consumed; reading everything from restarted brokers")
        found += _check(cluster, findings, directory)
        found += _compare_tables(cluster, findings)
        findings.exits = [line for server in cluster.servers.values() for line in server.exits]
    findings.outcomes = outcomes(
        findings.injected,
        checks.produced(findings.evidence),
        checks.consumed(findings.evidence),
        findings.stopped,
    )
    findings.violations = [*found, *_delays(findings)]
    return findings


def _inject(plan: Plan, injector: Injector, findings: Findings, report: Report) -> None:
    """Carry out the schedule."""
    active: list[_Active] = []
    faults = schedule(plan.seed, plan.seconds, plan.kinds)
    for number, fault in enumerate(faults, 1):
        _end_until(fault.at_s, active, findings)
        _sleep_until(findings.began + fault.at_s)
        target = injector.resolve(fault)
        since = time.monotonic()
        active.append(_Active(fault, target, since, injector.begin(fault, target)))
        report(f"fault {number} of {len(faults)}, on {target}: {fault}")
    _end_until(plan.seconds, active, findings)
    _sleep_until(findings.began + plan.seconds)
    findings.injected.sort(key=lambda one: one.since)


def _end_until(moment_s: float, active: list[_Active], findings: Findings) -> None:
    """End the faults whose time is over at that moment of the schedule."""
    for one in sorted(active, key=lambda one: one.fault.until_s):
        if one.fault.until_s <= moment_s:
            _sleep_until(findings.began + one.fault.until_s)
            one.end()
            active.remove(one)
            findings.injected.append(Injected(one.fault, one.target, one.since, time.monotonic()))


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))  # the schedule's moment, not a wait for something


def _finish(cluster: Cluster, clients: Clients, directory: Path) -> list[str]:
    """Stop the producers, let the groups consume all, and stop the readers."""
    found = []
    for client in clients.producing:
        found += _ended(client, _FLUSH_S)
    produced = checks.collect(_read_journals(directory, "producing"), []).producers
    ends = {topic: ends_of(journals.merged(produced, topic)) for topic in TOPICS}
    if not becomes_true(lambda: _have_committed(ends, cluster.security), _GROUPS_S):
        found.append(f"stalled: not all records were committed by the groups after {_GROUPS_S} s")
    for client in clients.reading:
        found += _ended(client, _GROUPS_S)
    return found


def _ended(client: Server, within_s: float) -> list[str]:
    code = client.stop(within_s)
    log = client.log.read_text(errors="replace")[-500:]
    return [f"complete: {client.name} exited with {code}: {log}"] if code else []


def _read_journals(directory: Path, module: str) -> list[journals.Journal]:
    return [journals.read(path) for path in sorted(directory.glob(f"{module}-*.journal"))]


def _have_committed(ends: Mapping[str, Mapping[int, int]], security: Security) -> bool:
    """Whether the group of each topic has committed the end of every partition."""
    try:
        return committed_offsets(kafka(BROKERS[0]), TOPICS, security) == ends
    except (RawError, Unanswered):
        return False


def _check(cluster: Cluster, findings: Findings, directory: Path) -> list[str]:
    for broker in cluster.brokers.values():
        broker.kill()
    for broker in cluster.brokers.values():
        broker.start()
    cluster.wait_serving()
    try:
        stored = [
            Stored(
                name,
                read_everything(kafka(name), TOPICS, _READ_S, cluster.security),
                committed_offsets(kafka(name), TOPICS, cluster.security),
            )
            for name in BROKERS
        ]
    except (Incomplete, RawError, Unanswered) as error:
        return [f"acked: {error}"]
    written = [*_read_journals(directory, "producing"), *_read_journals(directory, "reading")]
    findings.evidence = checks.collect(written, stored)
    return checks.violations(findings.evidence)


def _compare_tables(cluster: Cluster, findings: Findings) -> list[str]:
    """Compact what is left, and compare the tables with the log."""
    if cluster.compactor is None or not findings.evidence.stored:
        findings.notes.append("without a compactor")
        return []
    cluster.compactor.stop()
    last = Server(
        "last-compaction",
        compaction_command(cluster.network, cluster.config, "--once"),
        cluster.directory,
        {},
    )
    last.start()
    if code := last.wait(_COMPACTION_S):
        log = last.log.read_text(errors="replace")[-2000:]
        return [f"complete: the last compaction exited with {code}: {log}"]
    tables = read_tables(cluster.config, TOPICS)
    for topic, table in tables.items():
        rows = sum(map(len, table.rows.values()))
        findings.notes.append(f"table of {topic}: {rows:,} rows, {table.snapshots} snapshots")
    return list(table_violations(tables, findings.evidence.stored[0]))


def _delays(findings: Findings) -> list[str]:
    """Return the recoveries that took too long."""
    patience, found = findings.plan.patience, list(late(findings.outcomes, findings.plan.patience))
    for series in (checks.produced(findings.evidence), checks.consumed(findings.evidence)):
        found += stalls(series, findings.injected, patience)
    return found
