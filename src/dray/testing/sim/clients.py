"""Simulated clients, which use any broker that is up and record what they observe."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from dray.ids import StreamId
from dray.log import (
    Appended,
    FetchSlice,
    Log,
    LogDamaged,
    LogError,
    NotStored,
    OffsetOutOfRange,
    OutcomeUncertain,
    SequenceRejected,
    StoreUnavailable,
    StreamUnknown,
)
from dray.records import ValidBatch
from dray.testing.clock import VirtualClock
from dray.testing.nodes import NodeCrashed
from dray.testing.sim.batches import read_tags, tagged_batch
from dray.testing.sim.brokers import Broker
from dray.testing.sim.history import History, Outcome, Seen, Sent
from dray.testing.tailing import wait_past

_READ_BYTES = 300
_ATTEMPTS_MAX = 200
_WINDOW_MAX = 4
SendResult = Appended | BaseException


@dataclass(slots=True)
class ClientContext:
    """State that all clients share."""

    brokers: Sequence[Broker]
    streams: Sequence[StreamId]
    history: History
    clock: VirtualClock
    random: Random
    resting: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the producers are done, so that readers stop."""

    async def pick_broker(self) -> tuple[Broker, Log]:
        """Return a broker that is up; wait if there is none."""
        while True:
            up = [(broker, broker.log) for broker in self.brokers]
            ready = [(broker, log) for broker, log in up if log is not None]
            if ready:
                return self.random.choice(ready)
            await self.clock.sleep(0.05)

    async def pause(self, seconds: float) -> None:
        await self.clock.sleep(self.random.uniform(0, seconds))

    def make_batch(self, tag: str, **producer: int) -> ValidBatch:
        """Return a batch of up to three records."""
        return tagged_batch(tag, self.clock.now_ms(), records=self.random.randint(1, 3), **producer)

    async def fetch(
        self, broker: Broker, log: Log, stream: StreamId, offset: int, max_bytes: int
    ) -> FetchSlice:
        return await broker.node.run(log.read(stream, offset, max_bytes))

    def batches_in(self, found: FetchSlice, stream: StreamId, offset: int) -> Sequence[tuple[int, int, str]]:
        """Return base offset, number of records and tag of each batch that a read from `offset` returned."""
        del stream, offset
        return list(read_tags(found.parts))


async def plain_producer(name: str, context: ClientContext, batches: int) -> None:
    """Send each batch once, whatever its outcome; some of them together, without waiting in between."""
    number = 0
    while number < batches:
        await context.pause(0.3)
        stream = context.random.choice(context.streams)
        window = context.history.tick()
        sent = [
            Sent(
                f"{name}-{number + more}",
                stream,
                idempotent=False,
                order=(name, number + more),
                first_sent=window,
                window=window,
            )
            for more in range(context.random.randint(1, _WINDOW_MAX))
        ]
        number += len(sent)
        context.history.sent.update({one.tag: one for one in sent})
        encoded = [context.make_batch(one.tag) for one in sent]
        for one, result in zip(sent, await _send(context, stream, encoded), strict=True):
            _record_result(context.history, one, result)
            if one.outcome is Outcome.ACKNOWLEDGED:
                await _read_own_write(context, one)


async def idempotent_producer(name: str, context: ClientContext, producer_id: int, batches: int) -> None:
    """Send a window of batches at a time, and retry those not acknowledged, as Kafka's clients do."""
    stream = context.random.choice(context.streams)
    sequence = number = 0
    while number < batches:
        window: list[tuple[Sent, ValidBatch]] = []
        for _ in range(context.random.randint(1, _WINDOW_MAX)):
            tag = f"{name}-{number}"
            sent = Sent(tag, stream, idempotent=True, order=(name, number), first_sent=context.history.tick())
            context.history.sent[tag] = sent
            batch = context.make_batch(tag, producer_id=producer_id, epoch=0, sequence=sequence)
            window.append((sent, batch))
            number, sequence = number + 1, sequence + batch.header.record_count
        await _until_acknowledged(name, context, window)


async def _until_acknowledged(
    name: str, context: ClientContext, window: list[tuple[Sent, ValidBatch]]
) -> None:
    results: list[SendResult] = []
    for attempt in range(_ATTEMPTS_MAX):
        await context.pause(0.3)
        results = await _send(context, window[0][0].stream, [batch for _, batch in window])
        deleted = window[0][0].stream in context.history.deleted
        if attempt == 0 and isinstance(results[0], SequenceRejected) and not deleted:
            # All batches before it were acknowledged, and this is its first attempt.
            context.history.violate(f"sequence: {window[0][0].tag} was refused as out of order: {results[0]}")
            return  # no attempt can succeed
        for (sent, _), result in zip(window, results, strict=True):
            sent.uncertain |= isinstance(result, (OutcomeUncertain, NodeCrashed))
        context.history.note(
            f"{name} window {window[0][0].tag} +{len(window)}: {[_short(result) for result in results]}"
        )
        while window and isinstance(results[0], Appended):
            _record_result(context.history, window[0][0], results[0])
            window, results = window[1:], results[1:]
        if window and isinstance(results[0], (NotStored, SequenceRejected)):
            _check_not_overtaken(context.history, window, results)
        if not window or deleted:
            return
    context.history.violate(f"progress: {name} cannot send {window[0][0].tag}: {_short(results[0])}")


def _check_not_overtaken(
    history: History, window: Sequence[tuple[Sent, ValidBatch]], results: Sequence[SendResult]
) -> None:
    """Check that no batch was accepted after one that cannot have been committed.

    If an attempt to send that one had an unknown outcome, it may have been committed.
    """
    first = window[0][0]
    if first.uncertain:
        return
    for (sent, _), result in zip(window[1:], results[1:], strict=True):
        if isinstance(result, Appended):
            history.violate(f"sequence: {sent.tag} was accepted before {first.tag}")


async def reader(name: str, context: ClientContext, stream: StreamId) -> None:
    """Follow a stream from its beginning; nothing may be missing, duplicated or out of order."""
    position = 0
    while not context.resting.is_set():
        broker, log = await context.pick_broker()
        try:
            found = await context.fetch(broker, log, stream, position, _READ_BYTES)
        except OffsetOutOfRange as error:
            position = _restart_position(name, context, stream, position, error)
            continue
        except StreamUnknown as error:
            _check_deleted(context.history, f"{name}: {error}", stream)
            return
        except LogDamaged as error:
            context.history.violate(f"I2: {name}: {error}")
            return
        except (StoreUnavailable, NodeCrashed):
            await context.clock.sleep(0.1)
            continue
        for base, count, tag in context.batches_in(found, stream, position):
            if base > position:
                context.history.violate(f"I1: {name} read {stream} at {position} and got {base}")
            context.history.seen.append(Seen(stream, base, tag))
            position = base + count
        if not found.parts:
            await _wait(broker, log, context.clock, stream, position)


async def trimmer(context: ClientContext, times: int) -> None:
    """Delete records up to a random offset from time to time."""
    for _ in range(times):
        await context.pause(6.0)
        stream = context.random.choice(context.streams)
        broker, log = await context.pick_broker()
        try:
            head = await broker.node.run(log.head(stream))
            before = context.random.randint(head.log_start, head.high_watermark)
            context.history.trimmed_to[stream] = max(context.history.trimmed_to.get(stream, 0), before)
            start = await broker.node.run(log.trim(stream, before))
            context.history.note(f"trim {stream} to {before}: starts at {start}")
        except (StoreUnavailable, NodeCrashed, OffsetOutOfRange, OutcomeUncertain, StreamUnknown) as error:
            context.history.note(f"trim {stream}: {_short(error)}")


async def _send(context: ClientContext, stream: StreamId, batches: Sequence[ValidBatch]) -> list[SendResult]:
    broker, log = await context.pick_broker()
    try:
        return await broker.node.run(_append_all(log, stream, batches))
    except NodeCrashed as error:
        return [error] * len(batches)


async def _append_all(log: Log, stream: StreamId, batches: Sequence[ValidBatch]) -> list[SendResult]:
    acknowledgements = []
    for batch in batches:
        try:
            acknowledgements.append(await log.append(stream, batch))
        except LogError as error:
            return [error] * len(batches)
    return await asyncio.gather(*acknowledgements, return_exceptions=True)


def _record_result(history: History, sent: Sent, result: SendResult) -> None:
    if isinstance(result, Appended):
        sent.outcome, sent.base_offset = Outcome.ACKNOWLEDGED, result.base_offset
        sent.acknowledged = history.tick()
    elif isinstance(result, (NotStored, SequenceRejected)):
        sent.outcome = Outcome.FAILED
    elif isinstance(result, StreamUnknown):
        _check_deleted(history, f"{sent.tag}: {result}", sent.stream)
    elif not isinstance(result, (OutcomeUncertain, NodeCrashed)):
        raise result
    history.note(f"{sent.tag} {sent.stream} {sent.outcome.value} {sent.base_offset} {_short(result)}")


async def _read_own_write(context: ClientContext, sent: Sent) -> None:
    broker, log = await context.pick_broker()
    try:
        found = await context.fetch(broker, log, sent.stream, sent.base_offset, 1)
    except OffsetOutOfRange as error:
        if sent.base_offset >= min(error.log_start, context.history.trimmed_to.get(sent.stream, 0)):
            context.history.violate(f"I2: {sent.tag} was acknowledged and then: {error}")
        return
    except StreamUnknown as error:
        _check_deleted(context.history, f"{sent.tag} was acknowledged and then: {error}", sent.stream)
        return
    except LogDamaged as error:
        context.history.violate(f"I2: {sent.tag} was acknowledged and then: {error}")
        return
    except (StoreUnavailable, NodeCrashed):
        return
    tags = [(base, tag) for base, _, tag in context.batches_in(found, sent.stream, sent.base_offset)]
    if tags[:1] != [(sent.base_offset, sent.tag)]:
        context.history.violate(f"I2: {sent.tag} was acknowledged at {sent.base_offset}, read was {tags}")


def _restart_position(
    name: str, context: ClientContext, stream: StreamId, position: int, error: OffsetOutOfRange
) -> int:
    trimmed_to = context.history.trimmed_to.get(stream, 0)
    if error.log_start <= position or error.log_start > trimmed_to:
        context.history.violate(
            f"I1: {name} cannot read {position} of {stream}, trimmed to {trimmed_to}: {error}"
        )
        return max(position, error.log_start)
    return error.log_start


async def _wait(broker: Broker, log: Log, clock: VirtualClock, stream: StreamId, position: int) -> None:
    try:
        await broker.node.run(wait_past(log, clock, stream, position, 1.0))
    except (StoreUnavailable, NodeCrashed, StreamUnknown):
        return


def _check_deleted(history: History, what: str, stream: StreamId) -> None:
    """Check that an unknown stream is one whose deletion was requested."""
    if stream not in history.deleted:
        history.violate(f"I2: {what}")


def _short(result: object) -> str:
    return f"{type(result).__name__}({result})"[:120]
