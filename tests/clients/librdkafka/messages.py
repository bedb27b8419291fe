"""Conversion of librdkafka's messages to records of the tests."""

from typing import cast

from confluent_kafka import Message

from tests.clients.protocol import Record


def placed(message: Message | None) -> tuple[int, int]:
    assert message is not None
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    return partition, offset


def record_of(message: Message) -> Record:
    partition, offset = placed(message)
    headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])  # its type stubs allow more
    return Record(message.key(), message.value(), tuple(headers), message.timestamp()[1], partition, offset)
