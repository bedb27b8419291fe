"""The audit log: who was denied what, and who changed what, once each and without secrets."""

import logging
import tracemalloc
from collections.abc import Coroutine
from typing import Any

import pytest
from msgspec.structs import replace

from dray.api import audit
from dray.api.audit import AuditLog, Caller
from dray.api.dispatch import SERVED
from dray.cluster.topics import Topic
from dray.ids import Principal
from dray.quotas import CLIENT_ID, Entity, QuotaKey
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop
from dray.wire import Message
from dray.wire.apis.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from dray.wire.apis.create_acls import AclCreation, CreateAclsRequest
from dray.wire.apis.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from dray.wire.apis.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from dray.wire.apis.list_groups import ListGroupsRequest
from dray.wire.apis.list_offsets import ListOffsetsRequest
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.api.authorization.dray import DrayBackend
from tests.api.authorization.playing import requests_of
from tests.api.authorization.users import ADMIN
from tests.api.authorization.world import World
from tests.api.builders import Broker, with_broker
from tests.oracle.request_client import frame_of
from tests.oracle.requests import LATEST, offsets

USER = "no-ACL"
CALLER = Caller(Principal.user("alice"), "10.0.0.7", "app", "Produce")
ADMINISTRATIVE = sorted(one.api.name for one in SERVED.values() if one.changes is not None)
SALTED = b"a salted password of 32 bytes..."
VALUE = "987654321"
ALLOCATING = [
    tracemalloc.Filter(inclusive=True, filename_pattern=name) for name in (__file__, audit.__file__)
]
"""Memory of other modules and threads is not what the log holds."""


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dray.audit")


def events(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    return [line for line in lines if line["event"] == event]


async def started(caplog: pytest.LogCaptureFixture) -> tuple[World, DrayBackend]:
    """Return a world, with nothing logged yet."""
    backend = await DrayBackend.started()
    world = World(backend)
    await world.start()
    caplog.clear()
    return world, backend


async def send(backend: DrayBackend, user: str, request: Message, version: int) -> None:
    assert await backend.exchange(user, frame_of(request, version)) is not None


def play(body: Coroutine[Any, Any, None]) -> None:
    async def main() -> None:
        await body

    run(main())


def test_denial_is_logged_with_its_origin_and_subject(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        _, backend = await started(caplog)
        await send(backend, USER, offsets("other", LATEST), 9)
        (line,) = events(caplog, "request_denied")
        assert line == {
            "event": "request_denied",
            "level": "warning",
            "logger": "audit",
            "principal": f"User:{USER}",
            "host": "127.0.0.1",
            "client_id": "oracle",
            "api": "ListOffsets",
            "operation": "DESCRIBE",
            "resource": "TOPIC:other",
        }

    play(body())


def test_repeated_denial_is_logged_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        _, backend = await started(caplog)
        for _ in range(3):
            await send(backend, USER, offsets("other", LATEST), 9)
        await send(backend, USER, offsets("exact", LATEST), 9)
        assert [line["resource"] for line in events(caplog, "request_denied")] == [
            "TOPIC:other",
            "TOPIC:exact",
        ]
        assert not events(caplog, "denials_not_logged")
        await VirtualClock(virtual_loop()).sleep(61)
        await send(backend, USER, offsets("other", LATEST), 9)
        assert [line["count"] for line in events(caplog, "denials_not_logged")] == [2]
        assert len(events(caplog, "request_denied")) == 3

    play(body())


@pytest.mark.parametrize(
    ("request_", "version"),
    [(MetadataRequest(topics=None), 12), (ListGroupsRequest(), 5), (ListOffsetsRequest(replica_id=-1), 9)],
    ids=["all topics", "all groups", "nothing"],
)
def test_list_without_hidden_items_is_not_a_denial(
    request_: Message, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        _, backend = await started(caplog)
        await send(backend, USER, request_, version)
        assert not events(caplog, "request_denied")

    play(body())


@pytest.mark.parametrize("api", ADMINISTRATIVE)
def test_administrative_request_is_logged_once_with_its_sender_and_outcome(
    api: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        world, _ = await started(caplog)
        for step, asked, user in requests_of(api):
            if user not in (USER, ADMIN):
                continue
            if step.prepare is not None:
                await step.prepare(world)
            caplog.clear()
            request = step.make(world, asked.version)
            await world.answer(user, request, asked.version)
            lines = events(caplog, "change_requested")
            if getattr(request, "validate_only", False):
                assert not lines
                continue
            (line,) = lines
            named = line["principal"], line["host"], line["client_id"], line["api"]
            assert named == (f"User:{user}", "127.0.0.1", "oracle", api)
            assert line["subjects_count"] >= len(line["subjects"]) > 0
            assert user == ADMIN or line["outcome"] != "ok"

    play(body())


def test_auto_created_topic_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        world, _ = await started(caplog)
        for step, asked, user in requests_of("Metadata"):
            if step.label == "creating topics" and user == ADMIN and asked.version == 13:
                await world.answer(user, step.make(world, 13), 13)
        assert [line["subjects"] for line in events(caplog, "change_requested")] == [
            ["TOPIC:exact-created"],
            ["TOPIC:pre-created"],
            ["TOPIC:other-created"],
        ]

    play(body())


SECRETIVE = [
    AlterUserScramCredentialsRequest(
        upsertions=[
            ScramCredentialUpsertion(
                name="u", mechanism=1, iterations=4096, salt=b"the salt", salted_password=SALTED
            )
        ]
    ),
    IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=2,
                resource_name="exact",
                configs=[AlterableConfig(name="retention.ms", config_operation=0, value=VALUE)],
            )
        ]
    ),
    CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name="exact-created",
                num_partitions=1,
                replication_factor=1,
                configs=[CreatableTopicConfig(name="retention.ms", value=VALUE)],
            )
        ],
        timeout_ms=10_000,
    ),
]


@pytest.mark.parametrize("request_", SECRETIVE, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("user", [USER, ADMIN])
def test_log_has_no_secrets_and_no_values(
    request_: Message, user: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        _, backend = await started(caplog)
        version = 0 if isinstance(request_, AlterUserScramCredentialsRequest) else 1
        await send(backend, user, request_, 5 if isinstance(request_, CreateTopicsRequest) else version)
        (line,) = events(caplog, "change_requested")
        assert (line["outcome"] == "ok") == (user == ADMIN)
        text = " ".join(str(record.msg) for record in caplog.records)
        for secret in (SALTED.decode(), SALTED.hex(), "the salt", b"the salt".hex(), VALUE):
            assert secret not in text

    play(body())


def named(number: int) -> Caller:
    return replace(CALLER, principal=Principal.user(f"user {number}"))


def test_memory_of_denials_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        log = AuditLog(VirtualClock(virtual_loop()))
        for number in range(10_500):
            log.denied(named(number % 30), "WRITE", f"TOPIC:{number}")
        log.denied(named(0), "WRITE", "TOPIC:0")
        assert len(events(caplog, "request_denied")) == 10_000
        await VirtualClock(virtual_loop()).sleep(60)
        log.denied(CALLER, "WRITE", "TOPIC:new")
        assert [line["count"] for line in events(caplog, "denials_not_logged")] == [501]

    play(body())


def test_denials_of_one_user_do_not_keep_those_of_others_out_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body() -> None:
        log = AuditLog(VirtualClock(virtual_loop()))
        for number in range(10_500):
            log.denied(replace(named(1), client_id=f"{number}"), "WRITE", "TOPIC:a")
        log.denied(named(2), "WRITE", "TOPIC:a")
        lines = events(caplog, "request_denied")
        assert [line["principal"] for line in lines] == ["User:user 1"] * 500 + ["User:user 2"]

    play(body())


def test_failed_logins_do_not_keep_others_out_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        log = AuditLog(VirtualClock(virtual_loop()))
        for number in range(10_500):
            log.login_failed("10.0.0.7", "SASL_SSL", "PLAIN", f"no user '{number}'")
        log.login_failed("10.0.0.8", "SASL_SSL", "PLAIN", "no user 'x'")
        log.denied(CALLER, "WRITE", "TOPIC:a")
        lines = events(caplog, "authentication_failed")
        assert [line["host"] for line in lines] == ["10.0.0.7"] * 500 + ["10.0.0.8"]
        assert len(events(caplog, "request_denied")) == 1

    play(body())


def test_change_without_an_answer_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The connection is closed instead: the request was malformed, or its handler failed."""

    async def fail(*_: object) -> Topic:
        raise RuntimeError("a fault of our own")

    async def body(broker: Broker) -> None:
        await broker.closing_reason(CreateAclsRequest(creations=[AclCreation(operation=0)]))
        broker.services.topic_admin.create = fail  # type: ignore[assignment]
        topic = CreatableTopic(name="a", num_partitions=1, replication_factor=1)
        with pytest.raises(RuntimeError):
            await broker.ask(CreateTopicsResponse, CreateTopicsRequest(topics=[topic], timeout_ms=1_000))
        assert [(line["api"], line["outcome"]) for line in events(caplog, "change_requested")] == [
            ("CreateAcls", "unanswered"),
            ("CreateTopics", "unanswered"),
        ]

    with_broker(body)


def test_topic_that_cannot_be_created_automatically_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    named = [MetadataRequestTopic(name="a")]
    request = MetadataRequest(topics=named, allow_auto_topic_creation=True)

    async def body(broker: Broker) -> None:
        await broker.services.quotas.alter(
            Entity.of({CLIENT_ID: "test"}), lambda _: {QuotaKey.CONTROLLER_MUTATION_RATE: 0.0001}
        )
        for _ in range(3):  # the first one is within the burst that Kafka allows
            await broker.ask(MetadataResponse, replace(request, topics=[MetadataRequestTopic(name="b")]))
            await broker.ask(MetadataResponse, request)
        broker.link.unavailable = True
        for _ in range(2):
            await broker.ask(MetadataResponse, request, client_id="other")
        assert [
            (line["client_id"], line["subjects"], line["outcome"])
            for line in events(caplog, "change_requested")
        ] == [
            ("test", ["TOPIC:b"], "ok"),
            ("test", ["TOPIC:a"], "THROTTLING_QUOTA_EXCEEDED"),
            ("other", ["TOPIC:a"], "KAFKA_STORAGE_ERROR"),
        ]

    with_broker(body)


def test_remembered_denials_do_not_hold_long_client_ids() -> None:
    async def body() -> None:
        log = AuditLog(VirtualClock(virtual_loop()))
        tracemalloc.start()
        try:
            for number in range(100):
                log.denied(replace(CALLER, client_id=f"{number:03}{'c' * 32_000}"), "WRITE", "TOPIC:a")
            held = tracemalloc.take_snapshot().filter_traces(ALLOCATING).traces
            assert sum(trace.size for trace in held) < 1_000_000
        finally:
            tracemalloc.stop()

    play(body())


def test_long_texts_and_long_lists_are_cut(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        log = AuditLog(VirtualClock(virtual_loop()))
        caller = replace(CALLER, client_id="c" * 10_000)
        log.denied(caller, "WRITE", "TOPIC:" + "x" * 10_000)
        log.changed(caller, ["TOPIC:" + "y" * 10_000] * 1_000, ["NONE"] * 1_000)
        assert all(len(str(record.msg)) < 10_000 for record in caplog.records)
        (line,) = events(caplog, "change_requested")
        assert line["subjects_count"] == 1_000
        assert line["outcome"] == "NONE"

    play(body())
