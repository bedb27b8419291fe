"""Configs of groups: descriptions, changes, and errors with Kafka's codes and messages."""

import pytest

from dray.groups.limits import GroupLimits
from dray.wire.apis.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from dray.wire.apis.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from tests.api.builders import Broker, Cluster, on_broker, on_cluster, with_broker
from tests.api.configs import APPEND, DELETE, GROUP, Op, by_name, change, describe, replace

SESSION = "consumer.session.timeout.ms"
HEARTBEAT = "consumer.heartbeat.interval.ms"
ASSIGNMENT = "consumer.assignment.interval.ms"
GROUPS_OWN, STATIC, DEFAULT = 8, 4, 5
ROOMY = GroupLimits(
    consumer_session_timeout_ms=50_000,
    consumer_min_session_timeout_ms=5_000,
    consumer_max_heartbeat_interval_ms=20_000,
    consumer_min_assignment_interval_ms=100,
)


async def listed(broker: Broker) -> list[tuple[int, str]]:
    request = ListConfigResourcesRequest(resource_types=[GROUP])
    answer = await broker.ask(ListConfigResourcesResponse, request)
    assert answer.error_code == 0
    return [(one.resource_type, one.resource_name) for one in answer.config_resources]


async def values(broker: Broker, group: str = "g") -> dict[str, tuple[str | None, int]]:
    configs = by_name(await describe(broker, GROUP, group))
    return {name: (config.value, config.config_source) for name, config in configs.items()}


@on_broker
async def test_unknown_group_has_default_configs(broker: Broker) -> None:
    assert await values(broker) == {
        SESSION: ("45000", DEFAULT),
        HEARTBEAT: ("5000", DEFAULT),
        ASSIGNMENT: ("1000", DEFAULT),
    }
    configs = by_name(await describe(broker, GROUP, "g", synonyms=True, documentation=True))
    for name, config in configs.items():
        assert (config.config_type, config.read_only, config.is_sensitive) == (3, False, False)
        assert config.documentation
        assert [(one.name, one.value, one.source) for one in config.synonyms] == [
            (f"group.{name}", config.value, DEFAULT)
        ]
    assert await listed(broker) == []


@on_broker
async def test_group_configs_are_returned_with_their_source(broker: Broker) -> None:
    assert await change(broker, (GROUP, "g", [Op(SESSION, " +50000 ")])) == [(0, None)]
    assert await values(broker) == {
        SESSION: ("50000", GROUPS_OWN),
        HEARTBEAT: ("5000", DEFAULT),
        ASSIGNMENT: ("1000", DEFAULT),
    }
    config = by_name(await describe(broker, GROUP, "g", SESSION, synonyms=True))[SESSION]
    assert [(one.name, one.value, one.source) for one in config.synonyms] == [
        (SESSION, "50000", GROUPS_OWN),
        (f"group.{SESSION}", "45000", DEFAULT),
    ]
    assert await listed(broker) == [(GROUP, "g")]


@on_cluster
async def test_value_from_the_broker_settings_is_static(cluster: Cluster) -> None:
    broker = await cluster.broker(limits=ROOMY)
    configs = by_name(await describe(broker, GROUP, "g", SESSION, HEARTBEAT, synonyms=True))
    assert (configs[SESSION].value, configs[SESSION].config_source) == ("50000", STATIC)
    assert [(one.name, one.value, one.source) for one in configs[SESSION].synonyms] == [
        (f"group.{SESSION}", "50000", STATIC),
        (f"group.{SESSION}", "45000", DEFAULT),
    ]
    assert configs[HEARTBEAT].config_source == DEFAULT


@on_broker
async def test_incremental_changes_keep_other_configs_and_replacing_resets_them(broker: Broker) -> None:
    await change(broker, (GROUP, "g", [Op(SESSION, "50000"), Op(HEARTBEAT, "6000")]))
    await change(broker, (GROUP, "g", [Op(ASSIGNMENT, "0"), Op(HEARTBEAT, None, DELETE)]))
    assert (await values(broker))[SESSION] == ("50000", GROUPS_OWN)
    assert (await values(broker))[HEARTBEAT] == ("5000", DEFAULT)
    assert (await values(broker))[ASSIGNMENT] == ("0", GROUPS_OWN)
    assert await replace(broker, (GROUP, "g", [Op(HEARTBEAT, "7000")])) == [(0, None)]
    assert (await values(broker))[SESSION] == ("45000", DEFAULT)
    assert (await values(broker))[HEARTBEAT] == ("7000", GROUPS_OWN)


@on_broker
async def test_group_without_configs_is_not_listed(broker: Broker) -> None:
    for group in ("g", "h", "i"):
        await change(broker, (GROUP, group, [Op(SESSION, "50000")]))
    assert await change(broker, (GROUP, "g", [Op(SESSION, None, DELETE)])) == [(0, None)]
    assert await replace(broker, (GROUP, "h", [])) == [(0, None)]
    assert await listed(broker) == [(GROUP, "i")]


@on_broker
async def test_deleting_a_config_that_is_not_set_succeeds(broker: Broker) -> None:
    for name in (SESSION, "no.such", "share.session.timeout.ms"):
        assert await change(broker, (GROUP, "g", [Op(name, None, DELETE)])) == [(0, None)]
    assert await change(broker, (GROUP, "g", [])) == [(0, None)]


REFUSED = {
    "no name": ("", [Op(SESSION, "50000")], 42, "Default group resources are not allowed."),
    "no name, bad value": ("", [Op(SESSION, "x")], 42, "Default group resources are not allowed."),
    "unknown": ("g", [Op(SESSION, "x"), Op("foo", "1")], 40, "Unknown group config name: foo"),
    "of share groups": (
        "g",
        [Op("share.session.timeout.ms", "46000")],
        40,
        "Unknown group config name: share.session.timeout.ms",
    ),
    "null": ("g", [Op(SESSION)], 42, f"Null value not supported for : {SESSION}"),
    "twice": ("g", [Op(SESSION, "1"), Op(SESSION, "2")], 42, "Error due to duplicate config keys"),
    "no number": (
        "g",
        [Op(SESSION, "x"), Op(HEARTBEAT, "1")],
        40,
        f"Invalid value x for configuration {SESSION}: Not a number of type INT",
    ),
    "empty": (
        "g",
        [Op(SESSION, "")],
        40,
        f"Invalid value  for configuration {SESSION}: Not a number of type INT",
    ),
    "zero": (
        "g",
        [Op(SESSION, "0")],
        40,
        f"Invalid value 0 for configuration {SESSION}: Value must be at least 1",
    ),
    "negative": (
        "g",
        [Op(SESSION, "1"), Op(ASSIGNMENT, "-4")],
        40,
        f"Invalid value -4 for configuration {ASSIGNMENT}: Value must be at least 0",
    ),
    "session too short": (
        "g",
        [Op(SESSION, "44999")],
        40,
        f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms",
    ),
    "session too long": (
        "g",
        [Op(SESSION, "60001")],
        40,
        f"{SESSION} must be less than or equal to group.consumer.max.session.timeout.ms",
    ),
    "both too short": (
        "g",
        [Op(SESSION, "1"), Op(HEARTBEAT, "1")],
        40,
        f"{HEARTBEAT} must be greater than or equal to group.consumer.min.heartbeat.interval.ms",
    ),
    "heartbeat too long": (
        "g",
        [Op(HEARTBEAT, "15001")],
        40,
        f"{HEARTBEAT} must be less than or equal to group.consumer.max.heartbeat.interval.ms",
    ),
    "assignment too long": (
        "g",
        [Op(ASSIGNMENT, "15001")],
        40,
        f"{ASSIGNMENT} must be less than or equal to group.consumer.max.assignment.interval.ms",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors_have_the_code_and_message_of_kafka(case: str) -> None:
    group, ops, code, message = REFUSED[case]

    async def body(broker: Broker) -> None:
        for validate_only in (False, True):
            for alter in (change, replace):
                response = await alter(broker, (GROUP, group, ops), validate_only=validate_only)
                assert response == [(code, message)]
        assert await listed(broker) == []

    with_broker(body)


@on_broker
async def test_group_configs_cannot_be_appended_to(broker: Broker) -> None:
    response = await change(broker, (GROUP, "g", [Op(SESSION, "50000", APPEND)]))
    assert response == [(40, f"Can't APPEND to key {SESSION} because its type is not LIST.")]


@on_cluster
async def test_session_timeout_must_exceed_the_heartbeat_interval(cluster: Cluster) -> None:
    broker = await cluster.broker(limits=ROOMY)
    refused = (40, f"{SESSION} must be greater than {HEARTBEAT}")
    both = [Op(SESSION, "20000"), Op(HEARTBEAT, "20000")]
    assert await change(broker, (GROUP, "g", both)) == [refused]
    assert await change(broker, (GROUP, "g", [Op(SESSION, "5000")])) == [refused]
    assert await change(broker, (GROUP, "g", [Op(SESSION, "5001")])) == [(0, None)]
    assert await change(broker, (GROUP, "g", [Op(HEARTBEAT, "6000")])) == [refused]


@on_broker
async def test_validate_only_changes_nothing(broker: Broker) -> None:
    for alter in (replace, change):
        assert await alter(broker, (GROUP, "g", [Op(SESSION, "50000")]), validate_only=True) == [(0, None)]
    assert await listed(broker) == []


@on_broker
async def test_group_configs_accept_any_group_name(broker: Broker) -> None:
    names = ["a/b", "~", "%7E", "%2F", " ", "é/~", "..", "g" * 300]
    for number, name in enumerate(names):
        assert await change(broker, (GROUP, name, [Op(SESSION, str(45_000 + number))])) == [(0, None)]
    for number, name in enumerate(names):
        assert (await values(broker, name))[SESSION] == (str(45_000 + number), GROUPS_OWN)
    assert await listed(broker) == [(GROUP, name) for name in sorted(names)]


async def heartbeat_interval(broker: Broker, member_id: str, epoch: int, group: str = "g") -> tuple[int, int]:
    joining = epoch == 0
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=60_000 if joining else -1,
        subscribed_topic_names=["t"] if joining else None,
        topic_partitions=[] if joining else None,
    )
    answer = await broker.ask(ConsumerGroupHeartbeatResponse, request)
    assert answer.error_code == 0, answer
    return answer.heartbeat_interval_ms, answer.member_epoch


@on_cluster
async def test_members_get_the_heartbeat_interval_of_their_group(cluster: Cluster) -> None:
    one, other = await cluster.broker(1), await cluster.broker(2)
    await one.make_topic("t")
    interval_ms, epoch = await heartbeat_interval(one, "m", 0)
    assert interval_ms == 5_000
    await change(other, (GROUP, "g", [Op(HEARTBEAT, "9000")]))
    await cluster.settle()
    assert await heartbeat_interval(one, "m", epoch) == (9_000, epoch)
    assert (await heartbeat_interval(one, "m", 0, group="h"))[0] == 5_000
    await change(other, (GROUP, "g", [Op(HEARTBEAT, None, DELETE)]))
    await cluster.settle()
    assert await heartbeat_interval(one, "m", epoch) == (5_000, epoch)
