"""Simulated clients: they talk to whichever broker is up, and write down what they were told."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from dray.ids import StreamId
from dray.log import (
    Appended,
    Log,
    LogDamaged,
    LogError,
    NotStored,
    OffsetOutOfRange,
    OutcomeUncertain,
    SequenceRefused,
    Slice,
    StoreAway,
    StreamUnknown,
)
from dray.records import ValidBatch
from dray.testing.clock import VirtualClock
from dray.testing.nodes import NodeCrashed
from dray.testing.sim.batches import read_tags, tagged_batch
from dray.testing.sim.brokers import Broker
from dray.testing.sim.history import Fate, History, Seen, Sent

_READ_BYTES = 300
_ROUNDS_MAX = 200
_WINDOW_MAX = 4
Said = Appended | BaseException


@dataclass(slots=True)
class Surroundings:
    """What every client knows."""

    brokers: Sequence[Broker]
    streams: Sequence[StreamId]
    history: History
    clock: VirtualClock
    random: Random
    resting: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when producers are done, so that readers may stop."""

    async def some_broker(self) -> tuple[Broker, Log]:
        """Return a broker that is up, waiting for one if need be."""
        while True:
            up = [(broker, broker.log) for broker in self.brokers]
            ready = [(broker, log) for broker, log in up if log is not None]
            if ready:
                return self.random.choice(ready)
            await self.clock.sleep(0.05)

    async def pause(self, seconds: float) -> None:
        await self.clock.sleep(self.random.uniform(0, seconds))

    def draft(self, tag: str, **said: int) -> ValidBatch:
        """Make a batch of up to three records."""
        return tagged_batch(tag, self.clock.now_ms(), records=self.random.randint(1, 3), **said)

    async def fetch(self, broker: Broker, log: Log, stream: StreamId, offset: int, max_bytes: int) -> Slice:
        return await broker.node.run(log.read(stream, offset, max_bytes))

    def batches_in(self, found: Slice, stream: StreamId, offset: int) -> Sequence[tuple[int, int, str]]:
        """Tell base offset, number of records and tag of each batch that a read from `offset` on returned."""
        del stream, offset
        return list(read_tags(found.parts))


async def plain_producer(name: str, around: Surroundings, batches: int) -> None:
    """Send each batch once, whatever becomes of it; some together, without waiting in between."""
    number = 0
    while number < batches:
        await around.pause(0.3)
        stream = around.random.choice(around.streams)
        window = around.history.tick()
        sent = [
            Sent(
                f"{name}-{number + more}",
                stream,
                idempotent=False,
                order=(name, number + more),
                first_sent=window,
                window=window,
            )
            for more in range(around.random.randint(1, _WINDOW_MAX))
        ]
        number += len(sent)
        around.history.sent.update({one.tag: one for one in sent})
        drafts = [around.draft(one.tag) for one in sent]
        for one, said in zip(sent, await _send(around, stream, drafts), strict=True):
            _settle(around.history, one, said)
            if one.fate is Fate.ACKNOWLEDGED:
                await _read_own_write(around, one)


async def idempotent_producer(name: str, around: Surroundings, producer_id: int, batches: int) -> None:
    """Send a window of batches at a time, and again what was not acknowledged, as Kafka's clients do."""
    stream = around.random.choice(around.streams)
    sequence = number = 0
    while number < batches:
        window: list[tuple[Sent, ValidBatch]] = []
        for _ in range(around.random.randint(1, _WINDOW_MAX)):
            tag = f"{name}-{number}"
            sent = Sent(tag, stream, idempotent=True, order=(name, number), first_sent=around.history.tick())
            around.history.sent[tag] = sent
            batch = around.draft(tag, producer_id=producer_id, epoch=0, sequence=sequence)
            window.append((sent, batch))
            number, sequence = number + 1, sequence + batch.header.record_count
        await _until_acknowledged(name, around, window)


async def _until_acknowledged(name: str, around: Surroundings, window: list[tuple[Sent, ValidBatch]]) -> None:
    said: list[Said] = []
    for attempt in range(_ROUNDS_MAX):
        await around.pause(0.3)
        said = await _send(around, window[0][0].stream, [batch for _, batch in window])
        if attempt == 0 and isinstance(said[0], SequenceRefused):
            # All before it was acknowledged, and nobody has seen this one yet.
            around.history.complain(f"sequence: {window[0][0].tag} was not taken for the next: {said[0]}")
            return  # and will never be
        for (sent, _), one in zip(window, said, strict=True):
            sent.uncertain |= isinstance(one, (OutcomeUncertain, NodeCrashed))
        around.history.note(
            f"{name} window {window[0][0].tag} +{len(window)}: {[_short(one) for one in said]}"
        )
        while window and isinstance(said[0], Appended):
            _settle(around.history, window[0][0], said[0])
            window, said = window[1:], said[1:]
        if window and isinstance(said[0], (NotStored, SequenceRefused)):
            _nothing_overtook(around.history, window, said)
        if not window or window[0][0].stream in around.history.deleted:
            return
    around.history.complain(f"progress: {name} could not get {window[0][0].tag} through: {_short(said[0])}")


def _nothing_overtook(
    history: History, window: Sequence[tuple[Sent, ValidBatch]], said: Sequence[Said]
) -> None:
    """What comes behind a batch that was surely never committed cannot have been accepted.

    One attempt of unknown outcome may have committed it after all.
    """
    first = window[0][0]
    if first.uncertain:
        return
    for (sent, _), late in zip(window[1:], said[1:], strict=True):
        if isinstance(late, Appended):
            history.complain(f"sequence: {sent.tag} was accepted before {first.tag}")


async def reader(name: str, around: Surroundings, stream: StreamId) -> None:
    """Follow a stream from its beginning; nothing may be missing, doubled or out of order."""
    position = 0
    while not around.resting.is_set():
        broker, log = await around.some_broker()
        try:
            found = await around.fetch(broker, log, stream, position, _READ_BYTES)
        except OffsetOutOfRange as error:
            position = _restart_position(name, around, stream, position, error)
            continue
        except StreamUnknown as error:
            _gone(around.history, f"{name}: {error}", stream)
            return
        except LogDamaged as error:
            around.history.complain(f"I2: {name}: {error}")
            return
        except (StoreAway, NodeCrashed):
            await around.clock.sleep(0.1)
            continue
        for base, count, tag in around.batches_in(found, stream, position):
            if base > position:
                around.history.complain(f"I1: {name} asked {stream} for {position} and got {base}")
            around.history.seen.append(Seen(stream, base, tag))
            position = base + count
        if not found.parts:
            await _wait(broker, log, stream, position)


async def trimmer(around: Surroundings, times: int) -> None:
    """Delete records now and then."""
    for _ in range(times):
        await around.pause(6.0)
        stream = around.random.choice(around.streams)
        broker, log = await around.some_broker()
        try:
            head = await broker.node.run(log.head(stream))
            before = around.random.randint(head.log_start, head.high_watermark)
            around.history.trimmed_to[stream] = max(around.history.trimmed_to.get(stream, 0), before)
            start = await broker.node.run(log.trim(stream, before))
            around.history.note(f"trim {stream} to {before}: starts at {start}")
        except (StoreAway, NodeCrashed, OffsetOutOfRange, OutcomeUncertain, StreamUnknown) as error:
            around.history.note(f"trim {stream}: {_short(error)}")


async def _send(around: Surroundings, stream: StreamId, batches: Sequence[ValidBatch]) -> list[Said]:
    broker, log = await around.some_broker()
    try:
        return await broker.node.run(_append_all(log, stream, batches))
    except NodeCrashed as error:
        return [error] * len(batches)


async def _append_all(log: Log, stream: StreamId, batches: Sequence[ValidBatch]) -> list[Said]:
    promises = []
    for batch in batches:
        try:
            promises.append(await log.append(stream, batch))
        except LogError as error:
            return [error] * len(batches)
    return await asyncio.gather(*promises, return_exceptions=True)


def _settle(history: History, sent: Sent, said: Said) -> None:
    if isinstance(said, Appended):
        sent.fate, sent.base_offset, sent.acknowledged = Fate.ACKNOWLEDGED, said.base_offset, history.tick()
    elif isinstance(said, (NotStored, SequenceRefused)):
        sent.fate = Fate.FAILED
    elif isinstance(said, StreamUnknown):
        _gone(history, f"{sent.tag}: {said}", sent.stream)
    elif not isinstance(said, (OutcomeUncertain, NodeCrashed)):
        raise said
    history.note(f"{sent.tag} {sent.stream} {sent.fate.value} {sent.base_offset} {_short(said)}")


async def _read_own_write(around: Surroundings, sent: Sent) -> None:
    broker, log = await around.some_broker()
    try:
        found = await around.fetch(broker, log, sent.stream, sent.base_offset, 1)
    except OffsetOutOfRange as error:
        if sent.base_offset >= min(error.log_start, around.history.trimmed_to.get(sent.stream, 0)):
            around.history.complain(f"I2: {sent.tag} was acknowledged and then: {error}")
        return
    except StreamUnknown as error:
        _gone(around.history, f"{sent.tag} was acknowledged and then: {error}", sent.stream)
        return
    except LogDamaged as error:
        around.history.complain(f"I2: {sent.tag} was acknowledged and then: {error}")
        return
    except (StoreAway, NodeCrashed):
        return
    tags = [(base, tag) for base, _, tag in around.batches_in(found, sent.stream, sent.base_offset)]
    if tags[:1] != [(sent.base_offset, sent.tag)]:
        around.history.complain(f"I2: {sent.tag} was acknowledged at {sent.base_offset}, a read gave {tags}")


def _restart_position(
    name: str, around: Surroundings, stream: StreamId, position: int, error: OffsetOutOfRange
) -> int:
    trimmed_to = around.history.trimmed_to.get(stream, 0)
    if error.log_start <= position or error.log_start > trimmed_to:
        around.history.complain(
            f"I1: {name} cannot read {position} of {stream}, trimmed to {trimmed_to}: {error}"
        )
        return max(position, error.log_start)
    return error.log_start


async def _wait(broker: Broker, log: Log, stream: StreamId, position: int) -> None:
    try:
        await broker.node.run(log.wait_past(stream, position, 1.0))
    except (StoreAway, NodeCrashed, StreamUnknown):
        return


def _gone(history: History, what: str, stream: StreamId) -> None:
    """A stream is gone only if somebody asked for that."""
    if stream not in history.deleted:
        history.complain(f"I2: {what}")


def _short(said: object) -> str:
    return f"{type(said).__name__}({said})"[:120]
