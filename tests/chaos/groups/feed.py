"""Topic that the group consumes, and the producer that keeps writing to it."""

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.chaos.producers import TOPIC, SteadyProducer

PARTITIONS = 12


class Feed(SteadyProducer):
    """Sends numbered records to every partition, at a lower rate and to more partitions."""

    def __init__(self, name: str, bootstrap: str, *, zone: str) -> None:
        super().__init__(name, bootstrap, zone=zone, partitions=PARTITIONS, pause_s=0.1)


def make_topic(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for created in admin.create_topics([NewTopic(TOPIC, num_partitions=PARTITIONS)]).values():
        created.result(30)
