"""A small Kafka client for the commands: connect, route, try again; topics, produce, fetch."""

from dray.cli.client.cluster import ClientParts, Cluster, TopicLayout
from dray.cli.client.errors import ClientError, Refused, TryAgain, Undelivered, UnknownTopic

__all__ = [
    "ClientError",
    "ClientParts",
    "Cluster",
    "Refused",
    "TopicLayout",
    "TryAgain",
    "Undelivered",
    "UnknownTopic",
]
