"""Topic that the group consumes, and the producer that keeps writing to it."""

import time

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.chaos.producers import TOPIC, SteadyProducer

PARTITIONS = 12


class Feed(SteadyProducer):
    """Sends numbered records to every partition, at a lower rate and to more partitions."""

    def _send_all(self) -> None:
        number = 0
        while not self.stopping.is_set():
            for partition in range(PARTITIONS):
                self._send(f"{self.name}/{partition}/{number}", partition)
            number += 1
            self._producer.poll(0)
            time.sleep(0.1)  # a rate, not a wait for something
        self._producer.flush(120)


def make_topic(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for created in admin.create_topics([NewTopic(TOPIC, num_partitions=PARTITIONS)]).values():
        created.result(30)
