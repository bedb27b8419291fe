"""Kafka client of the commands: produce, consume and administer, on top of librdkafka."""

from dray.client.admin import Admin
from dray.client.config import ClientConfig
from dray.client.consumer import ConsumerRecord, ReadRange, RecordReader
from dray.client.errors import (
    BrokerError,
    ClientError,
    TopicExists,
    Undelivered,
    UnknownTopic,
    Unreachable,
    Unreadable,
)
from dray.client.producer import Producer, ProducerRecord, ProducerSettings

__all__ = [
    "Admin",
    "BrokerError",
    "ClientConfig",
    "ClientError",
    "ConsumerRecord",
    "Producer",
    "ProducerRecord",
    "ProducerSettings",
    "ReadRange",
    "RecordReader",
    "TopicExists",
    "Undelivered",
    "UnknownTopic",
    "Unreachable",
    "Unreadable",
]
