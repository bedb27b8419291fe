"""What holds whatever broke when. Each rule returns what is wrong, in words.

dense        the offsets of a partition are 0, 1, 2, …
sent         nothing is there that was not sent to this partition
once         nothing is there twice
order        what one producer sent to a partition is there in that order
told         what was acknowledged is there, at the offset that was acknowledged
everything   producers that never give up had everything acknowledged in the end, and nothing refused
time         what was acknowledged before another record was sent is ahead of it
stable       what somebody once read at an offset is still there
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.chaos.histories import Place, Records, Told


def violations(told: Sequence[Told], found: Records, seen: Records) -> list[str]:
    """Compare what producers were told and a follower has seen with what is found afterwards."""
    sent = {name for one in told for name in one.sent}
    wrong = [f"everything: {error}" for one in told for error in one.errors]
    for partition, records in found.items():
        names = [name for _, name in records]
        wrong += _dense(partition, [offset for offset, _ in records])
        wrong += _sent(partition, names, sent)
        wrong += _once(names)
        wrong += _order(names)
    wrong += _told(told, found)
    wrong += _time(told)
    wrong += _stable(seen, found)
    return wrong


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


def _once(names: Sequence[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"once: {name} is there {count} times"


def _order(names: Sequence[str]) -> Iterator[str]:
    last: dict[str, int] = {}
    for name in names:
        producer, _, number = name.rpartition("/")
        if number.isdecimal():  # else it was never sent, and is told as that
            if int(number) < last.get(producer, -1):
                yield f"order: {name} comes behind number {last[producer]}"
            last[producer] = int(number)


def _told(told: Sequence[Told], found: Records) -> Iterator[str]:
    at = {name: (partition, offset) for partition, records in found.items() for offset, name in records}
    for one in told:
        for name, place in one.acknowledged.items():
            if at.get(name) != (place.partition, place.offset):
                where = f"partition {place.partition} at {place.offset}"
                yield f"told: {name} was acknowledged in {where}, it is at {at.get(name)}"
        for name in one.sent:
            if name not in one.acknowledged:
                yield f"everything: {name} was never acknowledged"


def _time(told: Sequence[Told]) -> Iterator[str]:
    """Moments are taken before sending and after being told, so a doubtful case counts as right."""
    partitions: dict[int, list[tuple[Place, str, float]]] = {}
    for one in told:
        for name, place in one.acknowledged.items():
            if name in one.sent:
                partitions.setdefault(place.partition, []).append((place, name, one.sent[name]))
    for placed in partitions.values():
        latest, ahead = 0.0, ""
        for place, name, sent_at in sorted(placed, key=lambda row: row[0].offset):
            if place.at < latest:
                yield f"time: {name} was acknowledged before {ahead}, which is ahead of it, was sent"
            if sent_at > latest:
                latest, ahead = sent_at, name


def _stable(seen: Records, found: Records) -> Iterator[str]:
    for partition, records in seen.items():
        now = list(found.get(partition, ()))[: len(records)]
        if now != list(records):
            before = next((row for row, other in zip(records, now, strict=False) if row != other), None)
            yield f"stable: partition {partition} was read with {before or 'more'}, which is not there now"
