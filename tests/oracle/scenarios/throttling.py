"""Throttled clients: throttle times, what is done for them nevertheless, and when the connection continues.

Throttle times are the same to the millisecond where they depend on bytes only: the first request of a client
counts as if it had taken ten seconds.
"""

import time

from dray.wire.apis.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from dray.wire.apis.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from dray.wire.apis.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from dray.wire.apis.fetch import FetchResponse
from dray.wire.apis.list_offsets import ListOffsetsResponse
from dray.wire.apis.metadata import MetadataRequest, MetadataResponse
from dray.wire.apis.produce import ProduceResponse
from tests.oracle.batches import batch
from tests.oracle.requests import LATEST, Named, fetch, offsets, part, produce
from tests.oracle.scenarios.quotas import CLIENT, set_quota
from tests.oracle.transcripts import ResponseRecorder

RATE = 1_000.0
TIMEOUT_MS = 10_000


def _limited(recorder: ResponseRecorder, name: str, **limits: float) -> str:
    """Return a client id with quotas of its own, which apply."""
    client_id = recorder.named(name)
    set_quota(recorder, {CLIENT: client_id}, **limits)
    # Kafka's broker shows quotas before it applies them, but one change after the other.
    set_quota(recorder, {CLIENT: recorder.named(f"after-{name}")}, producer_byte_rate=1e9)
    return client_id


def _end(recorder: ResponseRecorder, topic: Named) -> int:
    found = recorder.client.send(offsets(topic.name, LATEST), ListOffsetsResponse)
    return found.topics[0].partitions[0].offset


def producing(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("produced")
    for version in (3, 5, 8, 9, 12, 13):
        client_id = _limited(recorder, f"producer-{version}", producer_byte_rate=RATE)
        large = produce(topic, batch(b"x" * 10_300))
        recorder.send(large, ProduceResponse, version, "above the limit", client_id=client_id)
        recorder.client.hang_up()
        recorder.note("stored", end=_end(recorder, topic))
    client_id = _limited(recorder, "small", producer_byte_rate=RATE)
    small = produce(topic, batch(b"x" * 5_000))
    recorder.send(small, ProduceResponse, 13, "within the limit", client_id=client_id)
    recorder.send(small, ProduceResponse, 13, "of another client", client_id="oracle")


def fetching(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("fetched")
    for _ in range(3):
        recorder.client.send(produce(topic, batch(b"x" * 10_300)), ProduceResponse)
    for version in (4, 7, 11, 12, 13, 17):
        client_id = _limited(recorder, f"consumer-{version}", consumer_byte_rate=RATE)
        recorder.send(fetch(topic, part()), FetchResponse, version, "above the limit", client_id=client_id)
        recorder.client.hang_up()
    client_id = _limited(recorder, "half", consumer_byte_rate=2.5 * RATE)
    # The limits are such that Kafka, which cuts batches, has no space for a part of another one.
    request = fetch(topic, part(), max_bytes=2 * len(batch(b"x" * 10_300)))
    recorder.send(request, FetchResponse, 17, "two of three batches", client_id=client_id)


def muting(recorder: ResponseRecorder) -> None:
    """The response comes at once, and the next one after the throttle time."""
    topic = recorder.topic("muted")
    client_id = _limited(recorder, "muted", producer_byte_rate=RATE)
    began = time.monotonic()
    large = produce(topic, batch(b"x" * 10_500))
    answer = recorder.client.send(large, ProduceResponse, client_id=client_id)
    answered = time.monotonic()
    recorder.client.send(MetadataRequest(topics=[]), MetadataResponse, client_id=client_id)
    seconds = answer.throttle_time_ms / 1000
    recorder.note(
        "times",
        throttled=0.5 < seconds < 1,
        at_once=answered - began < seconds,
        muted=seconds - 0.05 < time.monotonic() - answered < seconds + 5,
    )


def processing(recorder: ResponseRecorder) -> None:
    """Every request takes more than no time, and a second is the longest throttle time."""
    topic = recorder.topic("processed")
    client_id = _limited(recorder, "busy", request_percentage=1e-9)
    for version in (1, 5):
        anything = DescribeGroupsRequest(groups=[])
        recorder.send(anything, DescribeGroupsResponse, version, "throttled", client_id=client_id)
        recorder.client.hang_up()
    recorder.send(fetch(topic, part()), FetchResponse, 17, "throttled", client_id=client_id)
    recorder.client.hang_up()
    recorder.send(produce(topic, batch()), ProduceResponse, 13, "throttled", client_id=client_id)
    recorder.client.hang_up()
    recorder.client.send_without_response(produce(topic, batch(), acks=0), 13)


def _creation(recorder: ResponseRecorder, name: str, partitions: int) -> CreateTopicsRequest:
    topic = CreatableTopic(name=recorder.named(name), num_partitions=partitions, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)


def _owing(recorder: ResponseRecorder, name: str) -> str:
    """Return a client that has created more partitions than it may at once: 11 at one per second."""
    client_id = _limited(recorder, name, controller_mutation_rate=1.0)
    made = recorder.client.send(_creation(recorder, name, 16), CreateTopicsResponse, client_id=client_id)
    recorder.note("the first", code=made.topics[0].error_code, throttle_ms=made.throttle_time_ms)
    return client_id


def mutating(recorder: ResponseRecorder) -> None:
    client_id, client = _owing(recorder, "strict"), recorder.client
    name = recorder.named("strict")
    grown = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=17, assignments=None)], timeout_ms=TIMEOUT_MS
    )
    deleted = DeleteTopicsRequest(topic_names=[name], timeout_ms=TIMEOUT_MS)
    for version in (6, 7):
        answer = client.send(
            _creation(recorder, "more", 1), CreateTopicsResponse, version, client_id=client_id
        )
        client.hang_up()
        topic = answer.topics[0]
        recorder.note(
            f"create {version}",
            throttled=1_000 < answer.throttle_time_ms <= 5_000,
            code=topic.error_code,
            message=topic.error_message,
        )
    added = client.send(grown, CreatePartitionsResponse, 3, client_id=client_id)
    client.hang_up()
    recorder.note("grow", code=added.results[0].error_code, message=added.results[0].error_message)
    gone = client.send(deleted, DeleteTopicsResponse, 5, client_id=client_id)
    client.hang_up()
    recorder.note("delete", code=gone.responses[0].error_code, message=gone.responses[0].error_message)


def mutating_leniently(recorder: ResponseRecorder) -> None:
    client_id, client = _owing(recorder, "lenient"), recorder.client
    made = client.send(_creation(recorder, "more-lenient", 2), CreateTopicsResponse, 5, client_id=client_id)
    client.hang_up()
    recorder.note("create", throttled=1_000 < made.throttle_time_ms <= 7_000, code=made.topics[0].error_code)
    deleted = DeleteTopicsRequest(topic_names=[recorder.named("more-lenient")], timeout_ms=TIMEOUT_MS)
    gone = client.send(deleted, DeleteTopicsResponse, 4, client_id=client_id)
    client.hang_up()
    recorder.note(
        "delete", throttled=1_000 < gone.throttle_time_ms <= 9_000, code=gone.responses[0].error_code
    )


SCENARIOS = (producing, fetching, muting, processing, mutating, mutating_leniently)
