"""Dray: Kafka-compatible event streaming on object storage, with stateless, leaderless brokers."""

__version__ = "0.1.0"
