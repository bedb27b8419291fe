"""Output of `dray check`: a line for each finding as JSON, or a report by topic."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dray.check.deps import Owner, Progress
from dray.check.findings import Finding, OfStream, Severity
from dray.check.object_findings import Unreferenced
from dray.check.other_findings import OffsetsWithoutTopic, OfTable
from dray.check.repairer import Repaired
from dray.cli.render.formats import table
from dray.ids import StreamId

NO_TOPIC: Final = "(no topic)"
_MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Reported:
    """A finding and where it is; `repaired` is the outcome of a repair that was tried."""

    finding: Finding
    topic: str | None
    partition: int | None
    repaired: Repaired | None
    repairable: bool

    @property
    def is_open(self) -> bool:
        """Whether it still exists."""
        return self.repaired is None or not self.repaired.done


def located(
    finding: Finding, owners: Mapping[StreamId, Owner], repaired: Repaired | None, *, repairable: bool
) -> Reported:
    """Name the topic and the partition of a finding."""
    topic: str | None = None
    partition: int | None = None
    stream = finding.stream if isinstance(finding, OfStream | Unreferenced) else None
    if isinstance(finding, OfTable):
        topic, partition = finding.topic, finding.partition
    elif isinstance(finding, OffsetsWithoutTopic):
        topic = None  # there may be a topic of this name, but not the one that the offsets are for
    elif stream is not None and stream in owners:
        topic, partition = owners[stream].topic.name, owners[stream].partition
    return Reported(finding, topic, partition, repaired, repairable)


def as_json_line(one: Reported) -> str:
    finding, offsets = one.finding, one.finding.offsets
    return json.dumps(
        {
            "severity": str(finding.severity),
            "finding": finding.name,
            "topic": one.topic,
            "partition": one.partition,
            "first_offset": None if offsets is None else offsets[0],
            "last_offset": None if offsets is None else offsets[1],
            "object": getattr(finding, "path", None),
            "key": getattr(finding, "key", None),
            "what": finding.what,
            "repairable": one.repairable,
            "repaired": None if one.repaired is None else one.repaired.done,
            "repair": None if one.repaired is None else one.repaired.what,
            "remedy": finding.remedy,
        }
    )


@dataclass(slots=True)
class Counts:
    """Numbers of findings."""

    by_severity: Counter[Severity] = field(default_factory=Counter)
    repaired: int = 0

    def add(self, one: Reported) -> None:
        self.by_severity[one.finding.severity] += 1
        self.repaired += not one.is_open

    @property
    def findings(self) -> int:
        return self.by_severity.total()


def summary_json_line(counts: Counts, checked: Progress) -> str:
    return json.dumps(
        {
            "checked": {
                "streams": checked.streams,
                "entries": checked.entries,
                "objects": checked.objects,
                "tables": checked.tables,
                "read_bytes": checked.read_bytes,
            },
            "findings": {str(severity): counts.by_severity[severity] for severity in Severity},
            "repaired": counts.repaired,
        }
    )


def progress_text(checked: Progress) -> str:
    read = f", {checked.read_bytes / _MB:,.1f} MB read" if checked.read_bytes else ""
    return (
        f"{checked.stage}: {checked.objects:,} objects, {checked.streams:,} partitions, "
        f"{checked.entries:,} entries, {checked.tables:,} tables{read}"
    )


def as_text(found: Sequence[Reported], checked: Progress) -> str:
    """Return the report: the findings of each topic, then the counts."""
    by_topic: dict[str, list[Reported]] = {}
    for one in found:
        by_topic.setdefault(one.topic or NO_TOPIC, []).append(one)
    names = sorted(by_topic, key=lambda name: (name == NO_TOPIC, name))
    blocks = ["\n".join(_topic(name, by_topic[name])) for name in names]
    if found:
        blocks.append("\n".join(_counts(names, by_topic)))
    blocks.append(_summary(found, checked))
    return "\n\n".join(blocks)


def repair_line(one: Reported) -> str:
    """Return a line about a repair that was just tried."""
    return f"{one.topic or NO_TOPIC}: {_place(one)}{one.finding.what}: {_outcome(one)}"


def _topic(name: str, found: Sequence[Reported]) -> list[str]:
    lines = [name if name == NO_TOPIC else f"topic {name}"]
    order = list(Severity)
    for one in sorted(found, key=lambda one: (order.index(one.finding.severity), one.partition or 0)):
        lines.append(f"  {one.finding.severity:<6}{_place(one)}{one.finding.what}")
        lines.append(f"        {_outcome(one)}")
    return lines


def _place(one: Reported) -> str:
    parts = [] if one.partition is None else [f"partition {one.partition}"]
    if one.finding.offsets is not None:
        parts.append("offsets {} to {}".format(*one.finding.offsets))
    return f"{', '.join(parts)}: " if parts else ""


def _outcome(one: Reported) -> str:
    if one.repaired is None:
        return f"to do: {one.finding.remedy}"
    if one.repaired.done:
        return f"repaired: {one.repaired.what}"
    return f"not repaired: {one.repaired.what}"


def _counts(names: Sequence[str], by_topic: Mapping[str, Sequence[Reported]]) -> list[str]:
    rows = []
    for name in names:
        counts = Counter(one.finding.severity for one in by_topic[name])
        repaired = sum(not one.is_open for one in by_topic[name])
        rows.append((name, *(counts[severity] for severity in Severity), repaired))
    return table(("topic", *map(str, Severity), "repaired"), rows)


def _summary(found: Sequence[Reported], checked: Progress) -> str:
    looked = (
        f"checked {_counted(checked.streams, 'partition')}, {_counted(checked.entries, 'index entry')}, "
        f"{_counted(checked.objects, 'object')} and {_counted(checked.tables, 'table')}"
    )
    return f"{looked}: {_counted(len(found), 'finding')}" if found else f"{looked}: nothing is wrong"


def _counted(count: int, what: str) -> str:
    if count == 1:
        return f"{count} {what}"
    return f"{count} {what.removesuffix('y')}ies" if what.endswith("y") else f"{count} {what}s"
