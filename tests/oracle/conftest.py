"""The oracle's own tests use the shared broker."""

from tests.oracle.fixtures import apache_kafka

__all__ = ["apache_kafka"]
