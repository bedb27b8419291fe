"""Report of an experiment: one HTML page with the figures, the timeline, the faults and the violations."""

import json
import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from tests.chaos.cluster import checks
from tests.chaos.cluster.checks import Evidence
from tests.chaos.cluster.experiment import Findings
from tests.chaos.cluster.recovery import Outcome, unavailable
from tests.chaos.cluster.timeline import Rates, timeline
from tests.chaos.groups.histories import Read
from tests.chaos.histories import ProducerHistory
from tests.oracle.environment import ROOT

_STYLE: Final = """
body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #202020 }
table { border-collapse: collapse }
th, td { padding: .2em .9em .2em 0; text-align: left; vertical-align: top }
tr { border-bottom: 1px solid #e4e4e4 }
.bad { color: #c0392b }
svg { width: 100%; height: auto }
"""
_LEGEND: Final = """
<p><b>Paused</b>: the longest time that any producer had nothing acknowledged in a partition, until the next
fault began. <b>Resumed</b>: the time from the end of the fault until all producers, or all groups, had made
progress in all partitions; a dash if another fault began before that.</p>
"""
_UNAVAILABLE_S: Final = 1.0


def figures(findings: Findings) -> dict[str, str]:
    """Return the figures of the page by their names."""
    evidence = findings.evidence
    acknowledged = sum(map(len, checks.produced(evidence).values()))
    tailed = sum(sum(tail.counts) for tail in evidence.tails)
    windows = unavailable(checks.produced(evidence), _UNAVAILABLE_S)
    return {
        "seed": str(findings.plan.seed),
        "metadata": findings.plan.metadata,
        "clients": "SASL_SSL" if findings.plan.tls else "PLAINTEXT",
        "faults": str(len(findings.injected)),
        "acknowledged": f"{acknowledged:,}",
        "consumed by groups": f"{sum(map(len, _consumed(evidence).values())):,}",
        "read from single brokers": f"{tailed:,}",
        "read again in the end": f"{sum(map(_stored_count, evidence.stored)):,}",
        "violations": str(len(findings.violations)),
        "seconds": f"{findings.ended - findings.began:.0f}",
        "unavailable": f"{len(windows)} times, {sum(end - begin for begin, end in windows):.1f} s in all "
        f"(nothing acknowledged for {_UNAVAILABLE_S:.0f} s or more)",
    }


def summary(findings: Findings) -> str:
    return ", ".join(f"{name} {value}" for name, value in figures(findings).items())


def as_json(findings: Findings) -> str:
    """Return what the table of a soak shows."""
    spans = [(one.since, one.until) for one in findings.injected]
    times = [time for some in checks.produced(findings.evidence).values() for time in some]
    return json.dumps(
        {
            "faults": Counter(one.fault.kind for one in findings.injected),
            "acknowledged": len(times),
            "during_outages": sum(any(begin <= time < end for begin, end in spans) for time in times),
            "consumed": sum(map(len, _consumed(findings.evidence).values())),
            "violations": findings.violations,
        }
    )


def page(findings: Findings) -> str:
    """Return the page, which needs no other file."""
    plot = timeline(_panels(findings.evidence), findings.injected, findings.began, findings.ended)
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>Chaos report</title>",
        f"<style>{_STYLE}</style><h1>Chaos report, seed {findings.plan.seed}</h1>",
        _table((), [(name, value) for name, value in figures(findings).items()]),
        *_violations(findings.violations),
        f"<h2>Timeline</h2>{plot}<h2>Faults</h2>{_LEGEND}",
        _table(
            ("at", "fault", "node", "lasted", "paused", "longest", "producers resumed", "groups resumed"),
            [_row(one, findings.began) for one in findings.outcomes],
        ),
        f"<h2>Cluster</h2>{_cluster()}",
        *(f"<p>{escape(note)}</p>" for note in (*findings.notes, *findings.exits)),
        f"<p>{escape(platform.platform())}, Python {platform.python_version()}</p>",
    ]
    return "\n".join(parts) + "\n"


def _cluster() -> str:
    text = (ROOT / "tests/chaos/cluster/topology.py").read_text().split('"""')[1]
    return f"<pre>{escape(text.partition(chr(10))[2].strip(chr(10)))}</pre>"


def _violations(found: Sequence[str]) -> Iterator[str]:
    if found:
        yield f"<h2 class=bad>{len(found)} violations</h2><ul>"
        yield from (f"<li>{escape(line)}</li>" for line in found[:100])
        yield "</ul>"


def _row(one: Outcome, began: float) -> tuple[str, ...]:
    injected = one.injected
    return (
        f"{injected.since - began:.1f} s",
        str(injected.fault),
        injected.target,
        f"{injected.until - injected.since:.1f} s",
        f"{one.paused_s:.1f} s",
        one.slowest,
        _seconds(one.resumed_s),
        _seconds(one.groups_resumed_s),
    )


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    names = "".join(f"<th>{escape(name)}" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}" for cell in row) for row in rows)
    return f"<table><tr>{names}{lines}</table>"


def _panels(evidence: Evidence) -> dict[str, Rates]:
    acknowledged = {
        name: [ack.at for ack in history.acknowledged.values()] for name, history in _named(evidence)
    }
    tails = {
        tail.broker: [at for at, count in zip(tail.times, tail.counts, strict=True) for _ in range(count)]
        for tail in evidence.tails
    }
    return {"acknowledged": acknowledged, "consumed": _consumed(evidence), "read from": tails}


def _named(evidence: Evidence) -> list[tuple[str, ProducerHistory]]:
    return [
        (checks.producer_of(history), history)
        for histories in evidence.producers.values()
        for history in histories
    ]


def _consumed(evidence: Evidence) -> dict[str, list[float]]:
    return {
        f"{topic} group": [event.at for event in history.events if isinstance(event, Read)]
        for topic, history in evidence.groups.items()
    }


def _stored_count(stored: checks.Stored) -> int:
    return sum(len(some) for records in stored.records.values() for some in records.values())
