"""Codec throughput of one core for Produce and Fetch, compared with kio.

Bar: four times kio, each way. It is reached against kio's Python code (all encoding; decoding up to kio 0.5).
From 0.6 on kio decodes with a compiled extension, and there the bar is missed; the figures say by how much.

Run it with `python -m benchmarks wire`.
"""

import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from benchmarks.figures import Figure
from dray.wire import Api, Message, encode_body
from dray.wire.apis import fetch, produce
from dray.wire.compiled import decoder, encoder

RECORDS = memoryview(bytes(range(256)) * 64)
PARTITIONS = (1, 10)
PRODUCE_VERSION, FETCH_VERSION = 9, 12
_BAR = 4.0


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    api: Api
    version: int
    message: Message

    def data(self) -> bytes:
        return b"".join(encode_body(self.api, self.version, self.message))

    def kio_type(self) -> type[Any]:
        load = load_request_schema if isinstance(self.message, self.api.request) else load_response_schema
        return load(self.api.key, self.version)

    def decoders(self) -> tuple[Callable[[], object], Callable[[], object]]:
        data, flexible = memoryview(self.data()), self.api.is_flexible(self.version)
        ours = decoder(type(self.message), self.version, flexible=flexible)
        theirs: Any = entity_reader(self.kio_type())
        return lambda: ours(data, 0), lambda: theirs(data, 0)

    def encoders(self) -> tuple[Callable[[], object], Callable[[], object]]:
        ours = encoder(type(self.message), self.version, flexible=self.api.is_flexible(self.version))
        theirs = entity_writer(self.kio_type())
        entity, _ = entity_reader(self.kio_type())(self.data(), 0)
        # Ours does not copy the records; kio copies them into a stream.
        return lambda: ours(self.message, bytearray()), lambda: theirs(io.BytesIO(), entity)


def run(*, seconds: float) -> list[Figure]:
    """Measure everything, for about `seconds` in all."""
    figures = []
    each = seconds / (8 * len(PARTITIONS))
    for partitions in PARTITIONS:
        label = f"{partitions} x 16 KiB"
        for case in (_produce_request(partitions), _fetch_request(partitions)):
            figures += _figures(f"{case.name} decode, {label}", *case.decoders(), each)
        for case in (_produce_response(partitions), _fetch_response(partitions)):
            figures += _figures(f"{case.name} encode, {label}", *case.encoders(), each)
    return figures


def _figures(
    name: str, ours: Callable[[], object], theirs: Callable[[], object], seconds: float
) -> list[Figure]:
    mine, kio = _best_us(ours, seconds), _best_us(theirs, seconds)
    return [
        Figure(name, mine, "µs/message"),
        Figure(f"{name}, beside kio", kio / mine, "x", bar=_BAR),
    ]


def _produce_request(partitions: int) -> _Case:
    data = [produce.PartitionProduceData(index=index, records=RECORDS) for index in range(partitions)]
    topic = produce.TopicProduceData(name="clicks", partition_data=data)
    request = produce.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])
    return _Case("Produce request", produce.PRODUCE, PRODUCE_VERSION, request)


def _produce_response(partitions: int) -> _Case:
    data = [
        produce.PartitionProduceResponse(index=index, base_offset=1 << 40, log_start_offset=0)
        for index in range(partitions)
    ]
    topic = produce.TopicProduceResponse(name="clicks", partition_responses=data)
    response = produce.ProduceResponse(responses=[topic])
    return _Case("Produce response", produce.PRODUCE, PRODUCE_VERSION, response)


def _fetch_request(partitions: int) -> _Case:
    asked = [
        fetch.FetchPartition(partition=index, fetch_offset=1 << 40, partition_max_bytes=1 << 20)
        for index in range(partitions)
    ]
    topic = fetch.FetchTopic(topic="clicks", partitions=asked)
    request = fetch.FetchRequest(max_wait_ms=500, min_bytes=1, topics=[topic])
    return _Case("Fetch request", fetch.FETCH, FETCH_VERSION, request)


def _fetch_response(partitions: int) -> _Case:
    data = [
        fetch.PartitionData(
            partition_index=index, high_watermark=1 << 40, aborted_transactions=None, records=[RECORDS]
        )
        for index in range(partitions)
    ]
    topic = fetch.FetchableTopicResponse(topic="clicks", partitions=data)
    response = fetch.FetchResponse(responses=[topic])
    return _Case("Fetch response", fetch.FETCH, FETCH_VERSION, response)


def _best_us(call: Callable[[], object], seconds: float) -> float:
    """The best of many rounds: what the code costs when nothing else runs."""
    call()
    deadline = time.perf_counter() + seconds
    best = _timed(call, 10)
    while time.perf_counter() < deadline:
        best = min(best, _timed(call, 100))
    return best * 1e6


def _timed(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls
