"""Checks of a history against the guarantees of the log, which hold under any faults.

I1        offsets of a stream are dense: no gap and no overlap, each batch where the index locates it
I2        an acknowledged batch is read back at the offset that was acknowledged, unless it was trimmed
I3        a failed batch is never visible, nor is a batch that was never sent
I4        every batch is visible at most once, also one of unknown outcome
order     an append that was acknowledged before another was sent has the lower offset;
          so has the first of two that were sent over one connection without waiting
sequence  batches of an idempotent producer are visible once each, in the order they were sent
stable    a batch read at an offset is read there forever
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dray.ids import StreamId
from dray.testing.sim.history import History, Outcome, Sent


@dataclass(frozen=True, slots=True)
class FinalStream:
    """A stream in its final state, after all faults and clients have stopped."""

    stream: StreamId
    log_start: int
    high_watermark: int
    batches: tuple[tuple[int, int, str], ...]
    """Base offset, number of records and tag, in the order they were read."""


def violations(history: History, finals: Iterable[FinalStream]) -> list[str]:
    found = list(history.violations)
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


def _density(final: FinalStream) -> Iterator[str]:
    expected = None
    for base, count, tag in final.batches:
        if expected is None:
            if not base <= final.log_start < base + count:
                yield f"I1: {final.stream}: first batch {tag} at {base} does not contain {final.log_start}"
        elif base != expected:
            yield f"I1: {final.stream}: batch {tag} is at {base}, expected {expected}"
        expected = base + count
    end = final.log_start if expected is None else expected
    if end != final.high_watermark:
        yield f"I1: {final.stream}: batches end at {end}, the high watermark is {final.high_watermark}"


def _acknowledged(final: FinalStream, sent: Iterable[Sent]) -> Iterator[str]:
    at = {tag: base for base, _, tag in final.batches}
    for batch in sent:
        if batch.outcome is not Outcome.ACKNOWLEDGED or batch.base_offset < final.log_start:
            continue
        if at.get(batch.tag) != batch.base_offset:
            yield f"I2: {batch.tag} was acknowledged at {batch.base_offset}, it is at {at.get(batch.tag)}"


def _only_what_was_sent(final: FinalStream, sent: dict[str, Sent]) -> Iterator[str]:
    for tag, count in Counter(tag for _, _, tag in final.batches).items():
        if tag not in sent:
            yield f"I3: {tag} in stream {final.stream} was never sent to it"
        elif sent[tag].outcome is Outcome.FAILED:
            yield f"I3: {tag} is visible, but its sender was notified that it was not stored"
        if count > 1:
            yield f"I4: {tag} is visible {count} times"


def _real_time_order(final: FinalStream, sent: Iterable[Sent]) -> Iterator[str]:
    acknowledged = [batch for batch in sent if batch.outcome is Outcome.ACKNOWLEDGED]
    acknowledged.sort(key=lambda batch: batch.base_offset)
    highest_sent = 0
    for batch in acknowledged:
        # A batch must not have been acknowledged before one with a lower offset was first sent.
        if batch.acknowledged < highest_sent:
            yield f"order: {batch.tag} of {final.stream} was acknowledged before an earlier batch was sent"
        highest_sent = max(highest_sent, batch.first_sent)


def _connection_order(final: FinalStream, sent: Iterable[Sent]) -> Iterator[str]:
    last: dict[int, Sent] = {}
    for batch in sent:
        if batch.idempotent or batch.outcome is not Outcome.ACKNOWLEDGED:
            continue
        before = last.get(batch.window)
        if before is not None and before.base_offset > batch.base_offset:
            yield f"order: {batch.tag} of {final.stream} overtook {before.tag} on one connection"
        last[batch.window] = batch


def _sequence(final: FinalStream, sent: dict[str, Sent]) -> Iterator[str]:
    last: defaultdict[str, int] = defaultdict(lambda: -1)
    for _, _, tag in final.batches:
        batch = sent.get(tag)
        if batch is None or not batch.idempotent:
            continue
        sender, number = batch.order
        if number <= last[sender]:
            yield f"sequence: {tag} of {sender} follows its number {last[sender]}"
        last[sender] = number


def _stability(final: FinalStream, history: History) -> Iterator[str]:
    at = {base: tag for base, _, tag in final.batches}
    first_seen: dict[int, str] = {}
    for seen in history.seen:
        if seen.stream != final.stream:
            continue
        if first_seen.setdefault(seen.offset, seen.tag) != seen.tag:
            yield f"stable: offset {seen.offset} was {first_seen[seen.offset]} and then {seen.tag}"
        if seen.offset >= final.log_start and at.get(seen.offset) != seen.tag:
            yield f"stable: offset {seen.offset} was {seen.tag}, it is {at.get(seen.offset)} now"
