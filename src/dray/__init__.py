"""Dray: a Kafka-compatible log without leaders or local state."""

__version__ = "0.1.0"
