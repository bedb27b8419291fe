"""The Kafka APIs: one module each, and the table that leads to them."""

from dray.api.dispatch import SERVED, Dispatcher, Served
from dray.api.exchange import Answer, CloseConnection, Context, Finish, Peer
from dray.api.metrics import ApiMetrics
from dray.api.services import Services
from dray.api.settings import KafkaSettings

__all__ = [
    "SERVED",
    "Answer",
    "ApiMetrics",
    "CloseConnection",
    "Context",
    "Dispatcher",
    "Finish",
    "KafkaSettings",
    "Peer",
    "Served",
    "Services",
]
