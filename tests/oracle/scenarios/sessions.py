"""Fetch sessions: what opens, continues and ends one, and which partitions its responses contain."""

from collections.abc import Sequence

from msgspec.structs import replace

from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from dray.wire.apis.fetch import FetchPartition, FetchRequest, FetchResponse, ForgottenTopic
from dray.wire.apis.produce import ProduceResponse
from tests.oracle.batches import batch
from tests.oracle.requests import Named, fetch, part, produce
from tests.oracle.scenarios.fetch import filled
from tests.oracle.scenarios.records import trim
from tests.oracle.transcripts import ResponseRecorder

VERSIONS = (7, 12, 17)


class _Session:
    """A client with a fetch session, which counts its epochs."""

    def __init__(self, recorder: ResponseRecorder, topic: Named, version: int) -> None:
        self._recorder = recorder
        self._topic = topic
        self.version = version
        self.number = 0
        self.epoch = 0

    def open(self, *parts: FetchPartition, label: str = "open", max_bytes: int = 1 << 20) -> None:
        request = fetch(self._topic, *parts, session=(self.number, 0), max_bytes=max_bytes)
        reply = self._recorder.send(request, FetchResponse, self.version, label)
        assert reply is not None
        self.number, self.epoch = reply.session_id, 1

    def resume(
        self,
        label: str,
        *parts: FetchPartition,
        forget: Sequence[int] = (),
        epoch: int | None = None,
        version: int | None = None,
        max_bytes: int = 1 << 20,
    ) -> None:
        """Send the next request, or one with another epoch."""
        number = self.epoch if epoch is None else epoch
        request = fetch(self._topic, *parts, session=(self.number, number), max_bytes=max_bytes)
        if not parts:
            request = replace(request, topics=[])
        if forget:
            name = self._topic
            forgotten = ForgottenTopic(topic=name.name, topic_id=name.topic_id, partitions=list(forget))
            request = replace(request, forgotten_topics_data=[forgotten])
        reply = self._recorder.send(request, FetchResponse, version or self.version, label)
        assert reply is not None
        if epoch is None and reply.error_code == 0:
            self.epoch += 1

    def produce(self, *values: bytes, partition: int = 0) -> None:
        request = produce(self._topic, batch(*values), partition=partition)
        self._recorder.client.send(request, ProduceResponse)


def news(recorder: ResponseRecorder) -> None:
    """A response has the partitions with records, and those whose watermark or start has changed."""
    for version in VERSIONS:
        topic = filled(recorder, f"news-{version}", partitions=3)
        one = _Session(recorder, topic, version)
        one.open(part(0), part(6, partition=1), part(6, partition=2))
        one.resume("records that were not moved past come again")
        one.resume("at the end of all", part(6))
        one.resume("nothing is new")
        one.produce(b"later", partition=1)
        one.resume("records of one")
        one.resume("moved past them", part(7, partition=1))
        one.produce(b"later", partition=2)
        one.resume("a watermark without the records", part(6, partition=2, most=0))
        one.resume("moved past them as well", part(7, partition=2))
        trim(recorder, topic, 4)
        one.resume("a log start")
        one.resume("nothing is new again")
        one.resume("the same offset, sent again", part(6))


def membership(recorder: ResponseRecorder) -> None:
    for version in VERSIONS:
        topic = filled(recorder, f"membership-{version}", partitions=3)
        one = _Session(recorder, topic, version)
        one.open(part(6))
        one.resume("a partition more", part(0, partition=1))
        one.resume("and past its records", part(6, partition=1))
        one.resume("one forgotten", forget=[0])
        one.produce(b"unread")
        one.resume("records of the forgotten one")
        one.resume("added again", part(6))
        one.resume("forgotten and added in one request", part(0, partition=1), forget=[1])
        one.resume("forgotten that was not there", forget=[2])
        one.resume("all forgotten", forget=[0, 1])
        one.resume("after that")


def errors(recorder: ResponseRecorder) -> None:
    """Partitions with errors are in every response; once there is none, everything is news."""
    for version in VERSIONS:
        topic = filled(recorder, f"session-errors-{version}", partitions=2)
        one = _Session(recorder, topic, version)
        one.open(part(6), part(99, partition=1), part(partition=7))
        one.resume("the errors come again")
        one.resume("one of them repaired", part(6, partition=1))
        one.resume("the other forgotten", forget=[7])
        one.resume("nothing is new")
        one.resume("a new error", part(-5))
        one.resume("repaired", part(6))


def epochs(recorder: ResponseRecorder) -> None:
    for version in VERSIONS:
        topic = filled(recorder, f"session-epochs-{version}")
        one = _Session(recorder, topic, version)
        one.open(part(6))
        one.resume("too far ahead", epoch=2)
        one.resume("as expected")
        one.resume("the one before", epoch=1)
        one.resume("of a session that never was", epoch=-7)
        one.resume("as expected")
        one.resume("closed", epoch=-1)
        one.resume("after it was closed")
        one.open(part(6), label="opened again")
        before, one.number = one.number, one.number + 1 if one.number < (1 << 31) - 1 else 1
        one.resume("another session")
        one.number = before
        one.open(part(0), label="opened in its own place")
        recorder.note("a new session", differs=one.number != before)
        one.number, after = before, one.number
        one.resume("the replaced one")
        one.number = after
        one.resume("the new one")
        one.resume("closed with a fetch", part(0), epoch=-1)


def kinds_of_names(recorder: ResponseRecorder) -> None:
    """A session is by name or by id, as it was opened."""
    topic = filled(recorder, "session-names")
    for opened, other in ((12, 13), (17, 7), (7, 12), (13, 17)):
        one = _Session(recorder, topic, opened)
        one.open(part(6))
        one.resume(f"version {opened}, then {other}", version=other)
        one.resume("the first version")


def without_partitions(recorder: ResponseRecorder) -> None:
    topic = filled(recorder, "session-of-nothing")
    for version in VERSIONS:
        opening = FetchRequest(session_id=0, session_epoch=0)
        reply = recorder.send(opening, FetchResponse, version, "nothing")
        assert reply is not None
        one = _Session(recorder, topic, version)
        one.number, one.epoch = reply.session_id, 1
        one.resume("the first partition", part(0))
        one.resume("past its records", part(6))


def order(recorder: ResponseRecorder) -> None:
    """A partition that had space in a response gets it again after the others."""
    size = len(batch(b"0-0-0"))
    for version in VERSIONS:
        topic = filled(recorder, f"session-order-{version}", partitions=3, sizes=(1, 1, 1, 1))
        one = _Session(recorder, topic, version)
        one.open(*(part(0, partition=number) for number in (2, 0, 1)), max_bytes=size)
        one.resume("the next", part(1, partition=2), max_bytes=size)
        one.resume("the last", part(1, partition=0), max_bytes=size)
        one.resume("the first again", part(1, partition=1), max_bytes=size)
        one.resume("two", part(2, partition=2), max_bytes=2 * size)


def deleted(recorder: ResponseRecorder) -> None:
    for version in VERSIONS:
        topic = filled(recorder, f"session-deleted-{version}")
        one = _Session(recorder, topic, version)
        one.open(part(6))
        request = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=topic.topic_id)], timeout_ms=5000)
        recorder.client.send(request, DeleteTopicsResponse)
        while not _error(recorder, topic):  # Kafka deletes in the background
            pass
        one.resume("after its deletion")
        one.resume("and again")


def _error(recorder: ResponseRecorder, topic: Named) -> int:
    reply = recorder.client.send(fetch(topic, part(6)), FetchResponse, 12)
    return reply.responses[0].partitions[0].error_code


SCENARIOS = (
    news,
    membership,
    errors,
    epochs,
    kinds_of_names,
    without_partitions,
    order,
    deleted,
)
