"""Load on librdkafka: records to one partition until the program is asked to stop."""

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tests.clients.librdkafka.messages import placed
from tests.clients.librdkafka.settings import Settings
from tests.clients.serving import Answers, OutOfTime

FLUSH_S = 30.0
INTERVAL_S = 0.001


def load(servers: Settings, topic: str, answers: Answers) -> list[tuple[int, int]]:
    delivered: list[tuple[int, int]] = []
    failures: list[KafkaError] = []

    def keep(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error)
        else:
            delivered.append(placed(message))

    producer = Producer(servers)
    while not (answers.leaving or failures):
        producer.produce(topic, b"load", partition=0, on_delivery=keep)
        producer.poll(INTERVAL_S)
    if producer.flush(FLUSH_S):
        raise OutOfTime("not every record was delivered")
    if failures:
        raise KafkaException(failures[0])
    return delivered
