"""Fetch: limits, offsets, sessions, epochs, isolation levels."""

from collections.abc import Sequence

from dray.wire.apis.fetch import FetchRequest, FetchResponse, FetchTopic
from dray.wire.apis.produce import ProduceResponse
from tests.oracle.batches import batch
from tests.oracle.requests import Named, fetch, part, produce
from tests.oracle.scenarios.records import trim
from tests.oracle.transcripts import Witness

VERSIONS = (4, 6, 7, 11, 12, 13, 16, 17)


def filled(witness: Witness, name: str, partitions: int = 1, sizes: Sequence[int] = (1, 3, 2)) -> Named:
    """A topic with batches of so many records in each partition."""
    topic = witness.topic(name, partitions)
    for partition in range(partitions):
        for number, size in enumerate(sizes):
            values = [b"%d-%d-%d" % (partition, number, index) for index in range(size)]
            witness.asker.ask(produce(topic, batch(*values), partition=partition), ProduceResponse)
    return topic


def offsets(witness: Witness) -> None:
    topic = filled(witness, "offsets")
    for version in VERSIONS:
        for offset in (0, 1, 2, 3, 4, 5, 6, 7, 100, -1, -5):
            witness.ask(fetch(topic, part(offset)), FetchResponse, version, f"offset {offset}")


def every_version(witness: Witness) -> None:
    topic = filled(witness, "fetch-versions")
    for version in range(4, 18):
        witness.ask(fetch(topic, part(1)), FetchResponse, version, "in the first batch")


def limits(witness: Witness) -> None:
    """Limits between batches only: inside one Kafka cuts it in two, and we stop before it."""
    topic = filled(witness, "limits", partitions=3)
    size = len(batch(b"0-0-0"))
    for version in (4, 11, 17):
        for most in (0, 1, size, -1):
            witness.ask(fetch(topic, part(0, most=most)), FetchResponse, version, f"partition bytes {most}")
            witness.ask(fetch(topic, part(), max_bytes=most), FetchResponse, version, f"bytes {most}")
        parts = [part(partition=2, most=size), part(partition=0, most=size), part(partition=1, most=size)]
        witness.ask(fetch(topic, *parts), FetchResponse, version, "in the order asked")
        witness.ask(fetch(topic, *parts, max_bytes=size), FetchResponse, version, "only the first has room")
        empty_first = [part(6, partition=1), part(partition=0, most=1), part(partition=2, most=1)]
        witness.ask(fetch(topic, *empty_first), FetchResponse, version, "the first that has data")


def waiting(witness: Witness) -> None:
    topic = filled(witness, "waiting")
    for label, request in {
        "at the end": fetch(topic, part(6), max_wait_ms=100),
        "no bytes wanted": fetch(topic, part(6), max_wait_ms=10_000, min_bytes=0),
        "more than there is": fetch(topic, part(0), max_wait_ms=100, min_bytes=10_000_000),
        "more than allowed": fetch(topic, part(0), max_wait_ms=10_000, min_bytes=100_000, max_bytes=50),
        "an error does not wait": fetch(topic, part(99), max_wait_ms=10_000),
        "a negative wait": fetch(topic, part(6), max_wait_ms=-1),
        "no partitions do not wait": fetch(topic, max_wait_ms=10_000),
    }.items():
        witness.ask(request, FetchResponse, 12, label)
    witness.ask(FetchRequest(max_wait_ms=10_000, min_bytes=1), FetchResponse, 12, "no topics")


def sessions(witness: Witness) -> None:
    topic = filled(witness, "sessions")
    for version in (7, 12, 17):
        for session in ((0, -1), (77, 5), (77, -1), (77, 0), (0, 5)):
            request = fetch(topic, part(), session=session)
            witness.ask(request, FetchResponse, version, f"session {session}")


def unknown(witness: Witness) -> None:
    topic = filled(witness, "fetch-known")
    stranger = Named(witness.named("fetch-stranger"), bytes(range(16)))
    for version in VERSIONS:
        witness.ask(fetch(stranger, part()), FetchResponse, version, "unknown topic")
        witness.ask(fetch(topic, part(partition=5)), FetchResponse, version, "unknown partition")
        witness.ask(fetch(topic, part(partition=-1)), FetchResponse, version, "negative partition")
        witness.ask(fetch(Named("", bytes(16)), part()), FetchResponse, version, "no name, the zero id")
        both = [
            FetchTopic(topic=name.name, topic_id=name.topic_id, partitions=[part()])
            for name in (stranger, topic)
        ]
        request = FetchRequest(max_wait_ms=5000, min_bytes=1, topics=both)
        witness.ask(request, FetchResponse, version, "one known, one not")


def epochs(witness: Witness) -> None:
    topic = filled(witness, "epochs")
    for version in (9, 12, 17):
        for epoch in (-1, 0, 1, -2, 50):
            witness.ask(fetch(topic, part(epoch=epoch)), FetchResponse, version, f"current epoch {epoch}")
    for last in (-1, 0, 1, -2):
        witness.ask(fetch(topic, part(2, last_epoch=last)), FetchResponse, 12, f"last epoch {last}")
        witness.ask(
            fetch(topic, part(6, last_epoch=last)), FetchResponse, 12, f"last epoch {last} at the end"
        )


def isolation(witness: Witness) -> None:
    topic = filled(witness, "isolation")
    for version in VERSIONS:
        for level in (0, 1):
            for offset in (0, 6, 99):
                request = fetch(topic, part(offset), isolation_level=level)
                witness.ask(request, FetchResponse, version, f"level {level} at {offset}")


def twice(witness: Witness) -> None:
    topic = filled(witness, "twice")
    witness.ask(fetch(topic, part(0), part(1)), FetchResponse, 12, "a partition twice")


def after_trimming(witness: Witness) -> None:
    """Offsets below the log start are out of range, and the answer says where the log begins."""
    topic = filled(witness, "trimmed")
    trim(witness, topic, 4)
    for version in (4, 12, 17):
        for offset in (0, 3, 4, 5, 6):
            witness.ask(
                fetch(topic, part(offset)), FetchResponse, version, f"offset {offset} of a trimmed log"
            )


SCENARIOS = (
    offsets,
    every_version,
    limits,
    waiting,
    sessions,
    unknown,
    epochs,
    isolation,
    twice,
    after_trimming,
)
