"""Dray: a Kafka-compatible log without leaders or local state, whose topics are also tables."""

__version__ = "0.1.0"
