"""The shipped test kit: a broker inside the process, virtual time, simulation, contract suites."""

from dray.testing.broker import EmbeddedBroker, broker

__all__ = ["EmbeddedBroker", "broker"]
