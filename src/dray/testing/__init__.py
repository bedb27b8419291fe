"""Test kit for users of Dray: embedded broker, virtual time, simulation, contract suites."""

from dray.testing.broker import EmbeddedBroker, broker

__all__ = ["EmbeddedBroker", "broker"]
