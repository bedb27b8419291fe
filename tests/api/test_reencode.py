"""Batches whose records are read: small ones inline, large ones in a thread, always in order."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from dray.api.reencode import INLINE_BYTES_MAX, must_read_records, reencode
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
from tests.oracle.batches import TIME_MS, batch, with_payload
from tests.oracle.request_client import RequestClient, frame_of
from tests.oracle.requests import Named, fetch, part, produce

RULES = BatchRules()
COMPACTED = BatchRules(compacted=True)
ZSTD = Compression(Codec.ZSTD)
LARGE = b"large " * INLINE_BYTES_MAX


class _Apart:
    """Replaces threads: counts their work, and does it when the test releases it."""

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
    return await reencode(one, rules, wanted, TIME_MS, cast("Any", apart)), apart.calls


@pytest.mark.parametrize(
    ("rules", "wanted", "expected"),
    [
        (RULES, None, False),
        (RULES, Compression(Codec.LZ4), False),
        (RULES, ZSTD, True),
        (COMPACTED, None, True),
    ],
)
def test_most_batches_are_stored_without_reading_their_records(
    rules: BatchRules, wanted: Compression | None, expected: bool
) -> None:
    assert must_read_records(valid(b"x", codec=Codec.LZ4), rules, wanted, TIME_MS) == expected


@pytest.mark.parametrize("codec", list(Codec))
async def test_small_batches_are_processed_inline_and_large_ones_in_a_thread(codec: Codec) -> None:
    for value, apart in ((b"small", 0), (LARGE, 1)):
        one = valid(value, codec=codec)
        assert codec is Codec.NONE or one.header.size_bytes < INLINE_BYTES_MAX, (
            "what counts is the plain size"
        )
        stored, calls = await _opened(one, Compression(Codec.GZIP if codec is not Codec.GZIP else Codec.LZ4))
        assert calls == apart
        assert decode_batch(memoryview(stored.buffer)) == decode_batch(memoryview(one.buffer))


async def test_invalid_batch_is_refused_inline_and_in_a_thread() -> None:
    bomb = with_payload(batch(codec=Codec.ZSTD), compress(Codec.ZSTD, bytes(100 << 20)))
    with pytest.raises(BatchTooLarge, match="once decompressed"):
        await _opened(validate(memoryview(bomb), RULES, TIME_MS), Compression(Codec.LZ4))
    keyless = validate(memoryview(batch(LARGE, key=None)), RULES, TIME_MS)
    with pytest.raises(InvalidBatch) as response:
        await _opened(keyless, None, COMPACTED)
    assert [fault.index for fault in response.value.faults] == [0]


@on_broker
async def test_other_requests_are_served_while_a_thread_processes_a_batch(broker: Broker) -> None:
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
    client: RequestClient, make_topic: MakeTopic
) -> None:
    topic = make_topic("order", compression_type="gzip")
    values = [b"%d " % number + (LARGE if number % 3 == 0 else b"") for number in range(30)]
    for value in values:
        client.connection.send(frame_of(produce(topic, batch(value)), 9))
    for _ in values:
        client.connection.receive()
    stored: list[bytes | None] = []
    while len(stored) < len(values):
        reply = client.send(fetch(topic, part(len(stored))), FetchResponse).responses[0].partitions[0]
        for _, one in iter_batches(memoryview(b"".join(reply.records or ()))):
            stored += [record.value for record in decode_batch(one)]
    assert stored == values


@pytest.mark.parametrize(
    ("codec", "little", "much"), [("gzip", "1", "9"), ("lz4", "9", "4"), ("zstd", "-50", "15")]
)
def test_compression_level_of_the_topic_is_used(
    client: RequestClient, make_topic: MakeTopic, codec: str, little: str, much: str
) -> None:
    values = [b"%d and some words that come again" % (number * 7919 % 500) for number in range(800)]
    sizes = []
    for level in (little, much):
        level_of = {f"compression_{codec}_level": level}
        topic = make_topic(f"level{level}", compression_type=codec, **level_of)
        response = client.send(produce(topic, batch(*values)), ProduceResponse)
        assert response.responses[0].partition_responses[0].error_code == E.NONE
        reply = client.send(fetch(topic, part()), FetchResponse).responses[0].partitions[0]
        sizes.append(len(b"".join(reply.records or ())))
    assert sizes[0] > sizes[1]
