"""ApiVersions, Metadata, InitProducerId, FindCoordinator, DescribeCluster, and invalid frames."""

import struct

from dray.wire.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse
from dray.wire.apis.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from dray.wire.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from dray.wire.apis.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.oracle.requests import idempotent
from tests.oracle.transcripts import ResponseRecorder


def api_versions(recorder: ResponseRecorder) -> None:
    for version in range(5):
        request = ApiVersionsRequest(client_software_name="oracle", client_software_version="1.0")
        recorder.send(request, ApiVersionsResponse, version, "plain")
    for name in ("", "-x", "x-", "a b", "é", "a.b-c", "a_b", "x"):
        for version in (3, 4):
            request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
            recorder.send(request, ApiVersionsResponse, version, f"name {name!r}")
            request = ApiVersionsRequest(client_software_name="ok", client_software_version=name)
            recorder.send(request, ApiVersionsResponse, version, f"version {name!r}")


def frames(recorder: ResponseRecorder) -> None:
    def header(key: int, version: int) -> bytes:
        return struct.pack(">hhih", key, version, 5, -1)

    for label, frame in {
        "ApiVersions 99": header(18, 99) + b"\x00",
        "ApiVersions 99 with rubbish behind": header(18, 99) + b"\x00 rubbish",
        "ApiVersions 5": header(18, 5) + b"\x00",
        "ApiVersions -1": header(18, -1),
        "unknown key": header(999, 0),
        "negative key": header(-1, 0),
        "LeaderAndIsr": header(4, 0),
        "Metadata 99": header(3, 99),
        "Metadata -1": header(3, -1),
        "Produce 2": header(0, 2) + struct.pack(">hii", 1, 1000, 0),
        "Fetch 3": header(1, 3),
        "ListOffsets 0": header(2, 0),
        "nothing": b"",
        "two bytes": b"\x00\x12",
        "half a header": b"\x00\x12\x00\x00\x00",
        "Metadata 1 cut off": header(3, 1) + b"\x00\x00\x00\x05",
        "Metadata 1 with a huge length": header(3, 1) + struct.pack(">i", 2**31 - 1),
    }.items():
        recorder.send_frame(frame, label)


def metadata(recorder: ResponseRecorder) -> None:
    first, second = recorder.topic("meta-one"), recorder.topic("meta-two", partitions=3)
    for version in range(14):
        nothing = MetadataRequest(topics=[])
        if version:  # in version 0 this means all topics, and other tests have created some
            recorder.send(nothing, MetadataResponse, version, "no topics")
        both = [MetadataRequestTopic(name=topic.name) for topic in (first, second)]
        recorder.send(MetadataRequest(topics=both), MetadataResponse, version, "two topics")
        flag = version >= 8
        allowed = MetadataRequest(
            topics=both,
            include_topic_authorized_operations=flag,
            include_cluster_authorized_operations=8 <= version <= 10,
        )
        recorder.send(allowed, MetadataResponse, version, "with what is allowed")


def metadata_of_strangers(recorder: ResponseRecorder) -> None:
    known = recorder.topic("meta-known")
    for version in (4, 9, 10, 12, 13):
        for label, name in {
            "unknown name": recorder.named("meta-stranger"),
            "no name": "",
            "a slash": "a/b",
            "a dot": ".",
            "250 letters": "x" * 250,
            "not ASCII": "é",
        }.items():
            asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
            recorder.send(asked, MetadataResponse, version, label)
    for version in (10, 11, 12, 13):
        for label, topic_id in (("unknown id", bytes(range(16))), ("known id", known.topic_id)):
            by_id = MetadataRequestTopic(name=None, topic_id=topic_id)
            recorder.send(MetadataRequest(topics=[by_id]), MetadataResponse, version, label)
        neither = MetadataRequestTopic(name=None)
        recorder.send(MetadataRequest(topics=[neither]), MetadataResponse, version, "neither name nor id")
        mixed = [
            MetadataRequestTopic(name=None, topic_id=known.topic_id),
            MetadataRequestTopic(name=known.name),
        ]
        recorder.send(MetadataRequest(topics=mixed), MetadataResponse, version, "by id and by name")
        both = MetadataRequestTopic(name=known.name, topic_id=known.topic_id)
        recorder.send(MetadataRequest(topics=[both]), MetadataResponse, version, "name and id")
    again = [MetadataRequestTopic(name=known.name)] * 2
    recorder.send(MetadataRequest(topics=again), MetadataResponse, 9, "twice the same")


def producer_ids(recorder: ResponseRecorder) -> None:
    recorder.await_producer_ids()
    for version in range(6):
        recorder.send(idempotent(), InitProducerIdResponse, version, "idempotent")
        for timeout_ms in (0, -1, 2**31 - 1):
            request = idempotent(timeout_ms=timeout_ms)
            recorder.send(request, InitProducerIdResponse, version, f"timeout {timeout_ms}")
        request = InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000)
        recorder.send(request, InitProducerIdResponse, version, "the empty id")
    for version in (3, 4, 5):
        for producer_id, epoch in ((5, -1), (-1, 5), (5, 5)):
            label = f"producer {producer_id}, epoch {epoch}"
            recorder.send(idempotent(producer_id, epoch), InitProducerIdResponse, version, label)


def coordinators(recorder: ResponseRecorder) -> None:
    first = FindCoordinatorRequest(key="group")
    while recorder.client.send(first, FindCoordinatorResponse, 0).error_code:
        pass  # Kafka creates an internal topic on the first request
    for version in range(7):
        for key_type in (0, 2, 3, -1) if version else (0,):
            request = FindCoordinatorRequest(
                key="group" if version < 4 else "",
                key_type=key_type,
                coordinator_keys=["group"] if version >= 4 else [],
            )
            label = f"type {key_type}"
            recorder.send(request, FindCoordinatorResponse, version, label)


def description(recorder: ResponseRecorder) -> None:
    for version in range(3):
        for allowed in (True, False):
            request = DescribeClusterRequest(include_cluster_authorized_operations=allowed)
            recorder.send(request, DescribeClusterResponse, version, f"authorised operations {allowed}")
    for version in (1, 2):
        for kind in (0, 2, 3):
            request = DescribeClusterRequest(endpoint_type=kind)
            recorder.send(request, DescribeClusterResponse, version, f"endpoint type {kind}")


SCENARIOS = (
    api_versions,
    frames,
    metadata,
    metadata_of_strangers,
    producer_ids,
    coordinators,
    description,
)
