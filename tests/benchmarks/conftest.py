"""The benchmark's Java clients are tried on the Apache Kafka that all tests share."""

from tests.oracle.fixtures import apache_kafka

__all__ = ["apache_kafka"]
