"""Batches that must be opened: small ones at once, large ones in a thread, none out of order."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from dray.api.opening import AT_ONCE_BYTES, must_open, opened
from dray.records import (
    BatchRules,
    BatchTooLarge,
    Codec,
    Compression,
    InvalidBatch,
    ValidBatch,
    compress,
    decode_batch,
    iter_batches,
    validate,
)
from dray.wire import ErrorCode as E
from dray.wire.apis.fetch import FetchResponse
from dray.wire.apis.metadata import MetadataRequest, MetadataResponse
from dray.wire.apis.produce import ProduceResponse
from tests.api.builders import Broker, on_broker
from tests.api.conftest import MakeTopic
from tests.oracle.asking import Asker, frame_of
from tests.oracle.batches import TIME_MS, batch, with_payload
from tests.oracle.requests import Named, fetch, part, produce

RULES = BatchRules()
COMPACTED = BatchRules(compacted=True)
ZSTD = Compression(Codec.ZSTD)
LARGE = b"large " * AT_ONCE_BYTES


class _Apart:
    """In place of threads: counts what is done apart, and does it when it is let go."""

    def __init__(self) -> None:
        self.calls = 0
        self.called = asyncio.Event()
        self.go = asyncio.Event()

    async def run(self, call: Callable[..., Any], *args: Any) -> Any:
        self.calls += 1
        self.called.set()
        await self.go.wait()
        return call(*args)


def valid(*values: bytes, codec: Codec = Codec.NONE) -> ValidBatch:
    return validate(memoryview(batch(*values, codec=codec)), RULES, TIME_MS)


async def _opened(
    one: ValidBatch, wanted: Compression | None = ZSTD, rules: BatchRules = RULES
) -> tuple[ValidBatch, int]:
    apart = _Apart()
    apart.go.set()
    return await opened(one, rules, wanted, TIME_MS, cast("Any", apart)), apart.calls


@pytest.mark.parametrize(
    ("rules", "wanted", "expected"),
    [
        (RULES, None, False),
        (RULES, Compression(Codec.LZ4), False),
        (RULES, ZSTD, True),
        (COMPACTED, None, True),
    ],
)
def test_most_batches_need_not_be_opened(
    rules: BatchRules, wanted: Compression | None, expected: bool
) -> None:
    assert must_open(valid(b"x", codec=Codec.LZ4), rules, wanted) == expected


@pytest.mark.parametrize("codec", list(Codec))
async def test_small_ones_are_opened_at_once_and_large_ones_apart(codec: Codec) -> None:
    for value, apart in ((b"small", 0), (LARGE, 1)):
        one = valid(value, codec=codec)
        assert codec is Codec.NONE or one.header.size_bytes < AT_ONCE_BYTES, "what counts is the plain size"
        stored, calls = await _opened(one, Compression(Codec.GZIP if codec is not Codec.GZIP else Codec.LZ4))
        assert calls == apart
        assert decode_batch(memoryview(stored.buffer)) == decode_batch(memoryview(one.buffer))


async def test_what_is_wrong_is_told_wherever_it_is_found() -> None:
    bomb = with_payload(batch(codec=Codec.ZSTD), compress(Codec.ZSTD, bytes(100 << 20)))
    with pytest.raises(BatchTooLarge, match="once decompressed"):
        await _opened(validate(memoryview(bomb), RULES, TIME_MS), Compression(Codec.LZ4))
    keyless = validate(memoryview(batch(LARGE, key=None)), RULES, TIME_MS)
    with pytest.raises(InvalidBatch) as told:
        await _opened(keyless, None, COMPACTED)
    assert [fault.index for fault in told.value.faults] == [0]


@on_broker
async def test_others_are_served_while_a_large_batch_is_opened(broker: Broker) -> None:
    made = await broker.make_topic(compression_type="zstd")
    apart = _Apart()
    busy = Broker(replace(broker.services, threads=cast("Any", apart)), broker.tasks, broker.registration)
    request = produce(Named(made.name, made.topic_id), batch(LARGE))
    producing = asyncio.create_task(busy.ask(ProduceResponse, request))
    await apart.called.wait()
    assert (await busy.ask(MetadataResponse, MetadataRequest(topics=[]), 9)).error_code == 0
    assert not producing.done()
    apart.go.set()
    assert (await producing).responses[0].partition_responses[0].error_code == E.NONE


def test_large_and_small_batches_of_a_connection_keep_their_order(
    asker: Asker, make_topic: MakeTopic
) -> None:
    topic = make_topic("order", compression_type="gzip")
    values = [b"%d " % number + (LARGE if number % 3 == 0 else b"") for number in range(30)]
    for value in values:
        asker.connection.send(frame_of(produce(topic, batch(value)), 9))
    for _ in values:
        asker.connection.receive()
    stored: list[bytes | None] = []
    while len(stored) < len(values):
        came = asker.ask(fetch(topic, part(len(stored))), FetchResponse).responses[0].partitions[0]
        for _, one in iter_batches(memoryview(b"".join(came.records or ()))):
            stored += [record.value for record in decode_batch(one)]
    assert stored == values


@pytest.mark.parametrize(
    ("codec", "little", "much"), [("gzip", "1", "9"), ("lz4", "9", "4"), ("zstd", "-50", "15")]
)
def test_the_topics_level_takes_effect(
    asker: Asker, make_topic: MakeTopic, codec: str, little: str, much: str
) -> None:
    values = [b"%d and some words that come again" % (number * 7919 % 500) for number in range(800)]
    sizes = []
    for level in (little, much):
        level_of = {f"compression_{codec}_level": level}
        topic = make_topic(f"level{level}", compression_type=codec, **level_of)
        told = asker.ask(produce(topic, batch(*values)), ProduceResponse)
        assert told.responses[0].partition_responses[0].error_code == E.NONE
        came = asker.ask(fetch(topic, part()), FetchResponse).responses[0].partitions[0]
        sizes.append(len(b"".join(came.records or ())))
    assert sizes[0] > sizes[1]
