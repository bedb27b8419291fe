"""Checks of an experiment: the rules of the log and of groups, over the journals of all clients. Pure.

Besides the rules of `tests.chaos.rules` and `tests.chaos.groups.rules`:

fresh      a fetch that found nothing was sent before any record at its offset was acknowledged
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.chaos import rules
from tests.chaos.cluster.journals import Journal, TailJournal, merged
from tests.chaos.cluster.recovery import Series
from tests.chaos.groups import rules as group_rules
from tests.chaos.groups.histories import Committed, GroupHistory
from tests.chaos.histories import ProducerHistory, Records


class Stored(NamedTuple):
    """What one broker returned in the end, freshly started: records by topic, and committed offsets."""

    broker: str
    records: Mapping[str, Records]
    committed: Mapping[str, Mapping[int, int]]


class Evidence(NamedTuple):
    """All that the rules need."""

    producers: Mapping[str, list[ProducerHistory]]
    groups: Mapping[str, GroupHistory]
    tails: Sequence[TailJournal]
    stored: Sequence[Stored]


def collect(journals: Sequence[Journal], stored: Sequence[Stored]) -> Evidence:
    producers: dict[str, list[ProducerHistory]] = {}
    groups: dict[str, GroupHistory] = {}
    for journal in journals:
        for topic, histories in journal.producers.items():
            producers.setdefault(topic, []).extend(histories)
        for member in journal.members:
            history = groups.setdefault(member.topic, GroupHistory())
            history.events += member.events
            history.failures += member.failures
    return Evidence(producers, groups, [tail for journal in journals for tail in journal.tails], stored)


def violations(evidence: Evidence) -> list[str]:
    """Check everything; each violation once."""
    found: dict[str, None] = {}
    for topic, histories in evidence.producers.items():
        seen = {tail.broker: tail.seen.get(topic, {}) for tail in evidence.tails}
        for stored in evidence.stored:
            lines = rules.violations(histories, stored.records[topic], {})
            found |= dict.fromkeys(f"{line} (topic {topic}, {stored.broker})" for line in lines)
        for broker, records in seen.items():
            changed = rules.stable(records, evidence.stored[0].records[topic])
            found |= dict.fromkeys(f"{line} (topic {topic}, read from {broker})" for line in changed)
        whole = merged(evidence.producers, topic)
        committed = [stored.committed[topic] for stored in evidence.stored]
        lines = group_rules.violations(whole, evidence.groups[topic], committed)
        found |= dict.fromkeys(f"{line} (group of {topic})" for line in lines)
        found |= dict.fromkeys(_fresh(topic, whole, evidence.tails))
    return list(found)


def _fresh(topic: str, producer: ProducerHistory, tails: Sequence[TailJournal]) -> Iterator[str]:
    """A record was acknowledged at or after the offset before the fetch was sent: it was left out."""
    first_at = _acknowledged_from(producer)
    for tail in tails:
        for empty in tail.empties:
            if empty.topic == topic:
                acknowledged_at = first_at.get((empty.partition, empty.offset))
                if acknowledged_at is not None and acknowledged_at < empty.requested_at:
                    late_s = empty.requested_at - acknowledged_at
                    yield (
                        f"fresh: {tail.broker} found nothing at {empty.offset} of {topic}/{empty.partition} "
                        f"{late_s:.3f} s after it was acknowledged"
                    )


def _acknowledged_from(producer: ProducerHistory) -> dict[tuple[int, int], float]:
    """Return when the first record at or after each offset was acknowledged."""
    found: dict[tuple[int, int], float] = {}
    earliest: dict[int, float] = {}
    for ack in sorted(producer.acknowledged.values(), key=lambda ack: -ack.offset):
        earliest[ack.partition] = min(ack.at, earliest.get(ack.partition, ack.at))
        found[ack.partition, ack.offset] = earliest[ack.partition]
    return found


def produced(evidence: Evidence) -> dict[str, list[float]]:
    """Return when records were acknowledged, by producer, topic and partition."""
    series: dict[str, list[float]] = {}
    for topic, histories in evidence.producers.items():
        for history in histories:
            name = producer_of(history)
            for ack in history.acknowledged.values():
                series.setdefault(f"producer {name} in {topic}/{ack.partition}", []).append(ack.at)
    return {name: sorted(times) for name, times in series.items()}


def producer_of(history: ProducerHistory) -> str:
    """Return the name of the producer, with which the names of its records begin."""
    return next(iter(history.sent), "").partition("/")[0]


def consumed(evidence: Evidence) -> Series:
    """Return when offsets were committed, by group and partition."""
    series: dict[str, list[float]] = {}
    for topic, history in evidence.groups.items():
        for event in history.events:
            if isinstance(event, Committed):
                series.setdefault(f"group of {topic}/{event.partition}", []).append(event.at)
    return {name: sorted(times) for name, times in series.items()}
