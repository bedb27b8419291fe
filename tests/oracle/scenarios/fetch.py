"""Fetch: limits, offsets, sessions, epochs, isolation levels."""

from collections.abc import Sequence

from dray.wire.apis.fetch import FetchRequest, FetchResponse, FetchTopic
from dray.wire.apis.produce import ProduceResponse
from tests.oracle.batches import batch
from tests.oracle.requests import Named, fetch, part, produce
from tests.oracle.scenarios.records import trim
from tests.oracle.transcripts import ResponseRecorder

VERSIONS = (4, 6, 7, 11, 12, 13, 16, 17)


def filled(
    recorder: ResponseRecorder, name: str, partitions: int = 1, sizes: Sequence[int] = (1, 3, 2)
) -> Named:
    """Return a topic with batches of that many records in each partition."""
    topic = recorder.topic(name, partitions)
    for partition in range(partitions):
        for number, size in enumerate(sizes):
            values = [b"%d-%d-%d" % (partition, number, index) for index in range(size)]
            recorder.client.send(produce(topic, batch(*values), partition=partition), ProduceResponse)
    return topic


def offsets(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "offsets")
    for version in VERSIONS:
        for offset in (0, 1, 2, 3, 4, 5, 6, 7, 100, -1, -5):
            recorder.send(fetch(topic, part(offset)), FetchResponse, version, f"offset {offset}")


def every_version(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "fetch-versions")
    for version in range(4, 18):
        recorder.send(fetch(topic, part(1)), FetchResponse, version, "in the first batch")


def limits(recorder: ResponseRecorder) -> None:
    """Limits at batch boundaries only: within a batch Kafka truncates it, and Dray stops before it."""
    topic = filled(recorder, "limits", partitions=3)
    size = len(batch(b"0-0-0"))
    for version in (4, 11, 17):
        for most in (0, 1, size, -1):
            recorder.send(fetch(topic, part(0, most=most)), FetchResponse, version, f"partition bytes {most}")
            recorder.send(fetch(topic, part(), max_bytes=most), FetchResponse, version, f"bytes {most}")
        parts = [part(partition=2, most=size), part(partition=0, most=size), part(partition=1, most=size)]
        recorder.send(fetch(topic, *parts), FetchResponse, version, "in the order asked")
        recorder.send(fetch(topic, *parts, max_bytes=size), FetchResponse, version, "only the first fits")
        empty_first = [part(6, partition=1), part(partition=0, most=1), part(partition=2, most=1)]
        recorder.send(fetch(topic, *empty_first), FetchResponse, version, "the first that has data")


def waiting(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "waiting")
    for label, request in {
        "at the end": fetch(topic, part(6), max_wait_ms=100),
        "no bytes wanted": fetch(topic, part(6), max_wait_ms=10_000, min_bytes=0),
        "more than there is": fetch(topic, part(0), max_wait_ms=100, min_bytes=10_000_000),
        "more than allowed": fetch(topic, part(0), max_wait_ms=10_000, min_bytes=100_000, max_bytes=50),
        "an error does not wait": fetch(topic, part(99), max_wait_ms=10_000),
        "a negative wait": fetch(topic, part(6), max_wait_ms=-1),
        "no partitions do not wait": fetch(topic, max_wait_ms=10_000),
    }.items():
        recorder.send(request, FetchResponse, 12, label)
    recorder.send(FetchRequest(max_wait_ms=10_000, min_bytes=1), FetchResponse, 12, "no topics")


def sessions(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "sessions")
    for version in (7, 12, 17):
        for session in ((0, -1), (77, 5), (77, -1), (77, 0), (0, 5)):
            request = fetch(topic, part(), session=session)
            recorder.send(request, FetchResponse, version, f"session {session}")


def unknown(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "fetch-known")
    stranger = Named(recorder.named("fetch-stranger"), bytes(range(16)))
    for version in VERSIONS:
        recorder.send(fetch(stranger, part()), FetchResponse, version, "unknown topic")
        recorder.send(fetch(topic, part(partition=5)), FetchResponse, version, "unknown partition")
        recorder.send(fetch(topic, part(partition=-1)), FetchResponse, version, "negative partition")
        recorder.send(fetch(Named("", bytes(16)), part()), FetchResponse, version, "no name, the zero id")
        both = [
            FetchTopic(topic=name.name, topic_id=name.topic_id, partitions=[part()])
            for name in (stranger, topic)
        ]
        request = FetchRequest(max_wait_ms=5000, min_bytes=1, topics=both)
        recorder.send(request, FetchResponse, version, "one known, one not")


def epochs(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "epochs")
    for version in (9, 12, 17):
        for epoch in (-1, 0, 1, -2, 50):
            recorder.send(fetch(topic, part(epoch=epoch)), FetchResponse, version, f"current epoch {epoch}")
    for last in (-1, 0, 1, -2):
        recorder.send(fetch(topic, part(2, last_epoch=last)), FetchResponse, 12, f"last epoch {last}")
        recorder.send(
            fetch(topic, part(6, last_epoch=last)), FetchResponse, 12, f"last epoch {last} at the end"
        )


def isolation(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "isolation")
    for version in VERSIONS:
        for level in (0, 1):
            for offset in (0, 6, 99):
                request = fetch(topic, part(offset), isolation_level=level)
                recorder.send(request, FetchResponse, version, f"level {level} at {offset}")


def twice(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "twice")
    recorder.send(fetch(topic, part(0), part(1)), FetchResponse, 12, "a partition twice")


def after_trimming(recorder: ResponseRecorder) -> None:
    """Offsets below the log start are out of range, and the response has the log start."""
    topic = filled(recorder, "trimmed")
    trim(recorder, topic, 4)
    for version in (4, 12, 17):
        for offset in (0, 3, 4, 5, 6):
            recorder.send(
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
