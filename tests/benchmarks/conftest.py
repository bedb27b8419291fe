"""Fixture of the shared Apache Kafka, for the benchmark's Java clients."""

from tests.oracle.fixtures import apache_kafka

__all__ = ["apache_kafka"]
