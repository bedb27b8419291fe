"""Fixtures of the oracle's own tests."""

from tests.oracle.fixtures import apache_kafka

__all__ = ["apache_kafka"]
