"""Conversion of aiokafka's records to those of the tests."""

from aiokafka.structs import ConsumerRecord  # type: ignore[import-untyped]

from tests.clients.protocol import Record


def record_of(read: ConsumerRecord) -> Record:
    headers = tuple((name, value) for name, value in read.headers)
    return Record(read.key, read.value, headers, read.timestamp, read.partition, read.offset)
