"""Invariants of a log under any sequence of faults. Each rule yields its violations as text.

dense      the offsets of a partition are 0, 1, 2, …
sent       every record in a partition was sent to it
unique     no record occurs twice
ordered    records of one producer in a partition are in the order they were sent
acked      an acknowledged record is at the offset that was acknowledged
complete   every record was acknowledged in the end, and none was rejected
realtime   a record acknowledged before another was sent has the lower offset
stable     a record that was read at an offset stays there
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.chaos.histories import Ack, ProducerHistory, Records


def violations(histories: Sequence[ProducerHistory], stored: Records, seen: Records) -> list[str]:
    """Check what is stored afterwards against the producers' histories and the records a consumer saw."""
    sent = {name for history in histories for name in history.sent}
    found = [f"complete: {error}" for history in histories for error in history.errors]
    for partition, records in stored.items():
        names = [name for _, name in records]
        found += _dense(partition, [offset for offset, _ in records])
        found += _sent(partition, names, sent)
        found += _unique(names)
        found += _ordered(names)
    found += _acked(histories, stored)
    found += _realtime(histories)
    found += stable(seen, stored)
    return found


def _dense(partition: int, offsets: Sequence[int]) -> Iterator[str]:
    for expected, offset in enumerate(offsets):
        if offset != expected:
            yield f"dense: partition {partition} has {offset} where {expected} should be"
            return


def _sent(partition: int, names: Sequence[str], sent: set[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        if name not in sent:
            yield f"sent: {name} in partition {partition} was never sent"
        elif name.split("/")[1] != str(partition):
            yield f"sent: {name} was not sent to partition {partition}"


def _unique(names: Sequence[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"unique: {name} occurs {count} times"


def _ordered(names: Sequence[str]) -> Iterator[str]:
    last: dict[str, int] = {}
    for name in names:
        producer, _, number = name.rpartition("/")
        if number.isdecimal():  # else it was never sent, which `sent` reports
            if int(number) < last.get(producer, -1):
                yield f"ordered: {name} comes after number {last[producer]}"
            last[producer] = int(number)


def _acked(histories: Sequence[ProducerHistory], stored: Records) -> Iterator[str]:
    at = {name: (partition, offset) for partition, records in stored.items() for offset, name in records}
    for history in histories:
        for name, ack in history.acknowledged.items():
            if at.get(name) != (ack.partition, ack.offset):
                where = f"partition {ack.partition} at {ack.offset}"
                yield f"acked: {name} was acknowledged in {where}, it is at {at.get(name)}"
        for name in history.sent:
            if name not in history.acknowledged:
                yield f"complete: {name} was never acknowledged"


def _realtime(histories: Sequence[ProducerHistory]) -> Iterator[str]:
    """Compare times from before sending and after acknowledgement; concurrent sends may go either way."""
    partitions: dict[int, list[tuple[Ack, str, float]]] = {}
    for history in histories:
        for name, ack in history.acknowledged.items():
            if name in history.sent:
                partitions.setdefault(ack.partition, []).append((ack, name, history.sent[name]))
    for acked in partitions.values():
        latest, ahead = 0.0, ""
        for ack, name, sent_at in sorted(acked, key=lambda row: row[0].offset):
            if ack.at < latest:
                yield f"realtime: {name} was acknowledged before {ahead}, at a lower offset, was sent"
            if sent_at > latest:
                latest, ahead = sent_at, name


def stable(seen: Records, stored: Records) -> Iterator[str]:
    for partition, records in seen.items():
        now = list(stored.get(partition, ()))[: len(records)]
        if now != list(records):
            before = next((row for row, other in zip(records, now, strict=False) if row != other), None)
            yield f"stable: partition {partition} was read with {before or 'more'}, which is missing now"
