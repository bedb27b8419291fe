"""The rules a history must obey, whatever crashed when. Each returns the violations it finds, in words.

I1  offsets of a stream are dense: no gap, no overlap, each batch where the index says
I2  what was acknowledged is read back, at the offset that was acknowledged (unless trimmed)
I3  what failed is never visible; nothing is visible that nobody sent
I4  what has an unknown fate is there at most once, like everything else
order     an append that was acknowledged before another was sent has the lower offset;
          so has the earlier of two that were sent over one connection without waiting
sequence  an idempotent producer's batches are there once each, in the order it sent them
stable    what a reader once saw at an offset, everybody sees there for ever
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dray.ids import StreamId
from dray.testing.sim.history import Fate, History, Sent


@dataclass(frozen=True, slots=True)
class Final:
    """A stream as it is when everything has come to rest."""

    stream: StreamId
    log_start: int
    high_watermark: int
    batches: tuple[tuple[int, int, str], ...]
    """Base offset, number of records, tag; in the order they were read."""


def violations(history: History, finals: Iterable[Final]) -> list[str]:
    found = list(history.complaints)
    for final in finals:
        sent = {tag: batch for tag, batch in history.sent.items() if batch.stream == final.stream}
        found.extend(_density(final))
        found.extend(_acknowledged(final, sent.values()))
        found.extend(_only_what_was_sent(final, sent))
        found.extend(_real_time_order(final, sent.values()))
        found.extend(_connection_order(final, sent.values()))
        found.extend(_sequence(final, sent))
        found.extend(_stability(final, history))
    return found


def _density(final: Final) -> Iterator[str]:
    expected = None
    for base, count, tag in final.batches:
        if expected is None:
            if not base <= final.log_start < base + count:
                yield f"I1: {final.stream}: first batch {tag} at {base} does not hold {final.log_start}"
        elif base != expected:
            yield f"I1: {final.stream}: batch {tag} is at {base}, {expected} was next"
        expected = base + count
    end = final.log_start if expected is None else expected
    if end != final.high_watermark:
        yield f"I1: {final.stream}: batches end at {end}, the high watermark is {final.high_watermark}"


def _acknowledged(final: Final, sent: Iterable[Sent]) -> Iterator[str]:
    at = {tag: base for base, _, tag in final.batches}
    for batch in sent:
        if batch.fate is not Fate.ACKNOWLEDGED or batch.base_offset < final.log_start:
            continue
        if at.get(batch.tag) != batch.base_offset:
            yield f"I2: {batch.tag} was acknowledged at {batch.base_offset}, it is at {at.get(batch.tag)}"


def _only_what_was_sent(final: Final, sent: dict[str, Sent]) -> Iterator[str]:
    for tag, count in Counter(tag for _, _, tag in final.batches).items():
        if tag not in sent:
            yield f"I3: {tag} in stream {final.stream} was never sent there"
        elif sent[tag].fate is Fate.FAILED:
            yield f"I3: {tag} is visible, but its sender was told that it was not stored"
        if count > 1:
            yield f"I4: {tag} is there {count} times"


def _real_time_order(final: Final, sent: Iterable[Sent]) -> Iterator[str]:
    acknowledged = sorted(
        (batch for batch in sent if batch.fate is Fate.ACKNOWLEDGED), key=lambda batch: batch.base_offset
    )
    highest_sent = 0
    for batch in acknowledged:
        # Whoever comes later in the log must not have been acknowledged before an earlier one was first sent.
        if batch.acknowledged < highest_sent:
            yield f"order: {batch.tag} of {final.stream} was acknowledged before one ahead of it was sent"
        highest_sent = max(highest_sent, batch.first_sent)


def _connection_order(final: Final, sent: Iterable[Sent]) -> Iterator[str]:
    last: dict[int, Sent] = {}
    for batch in sent:
        if batch.idempotent or batch.fate is not Fate.ACKNOWLEDGED:
            continue
        before = last.get(batch.window)
        if before is not None and before.base_offset > batch.base_offset:
            yield f"order: {batch.tag} of {final.stream} overtook {before.tag} on one connection"
        last[batch.window] = batch


def _sequence(final: Final, sent: dict[str, Sent]) -> Iterator[str]:
    last: defaultdict[str, int] = defaultdict(lambda: -1)
    for _, _, tag in final.batches:
        batch = sent.get(tag)
        if batch is None or not batch.idempotent:
            continue
        sender, number = batch.order
        if number <= last[sender]:
            yield f"sequence: {tag} of {sender} comes behind its number {last[sender]}"
        last[sender] = number


def _stability(final: Final, history: History) -> Iterator[str]:
    at = {base: tag for base, _, tag in final.batches}
    remembered: dict[int, str] = {}
    for seen in history.seen:
        if seen.stream != final.stream:
            continue
        if remembered.setdefault(seen.offset, seen.tag) != seen.tag:
            yield f"stable: offset {seen.offset} was {remembered[seen.offset]} and then {seen.tag}"
        if seen.offset >= final.log_start and at.get(seen.offset) != seen.tag:
            yield f"stable: offset {seen.offset} was {seen.tag}, it is {at.get(seen.offset)} now"
