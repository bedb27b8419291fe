"""Reading and changing the configs of groups."""

from dray.wire.apis import alter_configs, describe_configs, incremental_alter_configs
from dray.wire.apis.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from tests.oracle.transcripts import ResponseRecorder

GROUP = 32
SET_FOR_GROUP, DEFAULT = 8, 5
SET, DELETE, APPEND = 0, 1, 2
SESSION = "consumer.session.timeout.ms"
HEARTBEAT = "consumer.heartbeat.interval.ms"
ASSIGNMENT = "consumer.assignment.interval.ms"
KEYS = [SESSION, HEARTBEAT, ASSIGNMENT]
"""Those of the consumer protocol; Kafka has more, for kinds of groups that Dray does not serve."""


def _describe(
    recorder: ResponseRecorder,
    label: str,
    group: str,
    keys: list[str] | None = KEYS,
    *,
    synonyms: bool = True,
) -> None:
    asked = describe_configs.DescribeConfigsResource(
        resource_type=GROUP, resource_name=group, configuration_keys=keys
    )
    request = describe_configs.DescribeConfigsRequest(resources=[asked], include_synonyms=synonyms)
    for version in range(1, 5):
        recorder.send(request, describe_configs.DescribeConfigsResponse, version, label)


def _change(
    recorder: ResponseRecorder,
    label: str,
    group: str,
    *ops: tuple[str, int, str | None],
    validate_only: bool = False,
) -> None:
    configs = [
        incremental_alter_configs.AlterableConfig(name=name, config_operation=operation, value=value)
        for name, operation, value in ops
    ]
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=GROUP, resource_name=group, configs=configs
    )
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=[resource], validate_only=validate_only
    )
    for version in (0, 1):
        recorder.send(request, incremental_alter_configs.IncrementalAlterConfigsResponse, version, label)


def _replace(recorder: ResponseRecorder, label: str, group: str, **configs: str | None) -> None:
    given = [
        alter_configs.AlterableConfig(name=name.replace("_", "."), value=value)
        for name, value in configs.items()
    ]
    resource = alter_configs.AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=given)
    for version in range(3):
        request = alter_configs.AlterConfigsRequest(resources=[resource])
        recorder.send(request, alter_configs.AlterConfigsResponse, version, label)


def _await_value(
    recorder: ResponseRecorder, group: str, key: str, value: str, source: int = SET_FOR_GROUP
) -> None:
    """Wait for the change to be propagated to Apache Kafka's brokers."""
    asked = describe_configs.DescribeConfigsResource(
        resource_type=GROUP, resource_name=group, configuration_keys=[key]
    )
    request = describe_configs.DescribeConfigsRequest(resources=[asked])
    while True:
        found = recorder.client.send(request, describe_configs.DescribeConfigsResponse).results[0].configs[0]
        if (found.value, found.config_source) == (value, source):
            return


def _await_listed(recorder: ResponseRecorder, *groups: str) -> None:
    """Wait until exactly these groups of this run are listed; other runs use the same broker."""
    request = ListConfigResourcesRequest(resource_types=[GROUP])
    while True:
        answer = recorder.client.send(request, ListConfigResourcesResponse, 1)
        assert {one.resource_type for one in answer.config_resources} <= {GROUP}
        names = [one.resource_name for one in answer.config_resources]
        if sorted(name for name in names if name.endswith(recorder.suffix)) == sorted(groups):
            return


def describing(recorder: ResponseRecorder) -> None:
    group = recorder.named("described")
    _describe(recorder, "nothing set", group)
    _describe(recorder, "without synonyms", group, synonyms=False)
    _describe(recorder, "one that is not", group, ["nonsense"])
    _describe(recorder, "no name", "", None)


def changing(recorder: ResponseRecorder) -> None:
    group = recorder.named("changed/~é %")
    _change(recorder, "set", group, (SESSION, SET, "+50000"))
    _await_value(recorder, group, SESSION, "50000")
    _describe(recorder, "one set", group)
    _change(recorder, "two more", group, (HEARTBEAT, SET, "15000"), (ASSIGNMENT, SET, "0"))
    _await_value(recorder, group, ASSIGNMENT, "0")
    _describe(recorder, "all set", group)
    _await_listed(recorder, group)
    _change(recorder, "delete one", group, (SESSION, DELETE, None))
    _await_value(recorder, group, SESSION, "45000", DEFAULT)
    _describe(recorder, "one deleted", group)
    _change(recorder, "delete the rest", group, (HEARTBEAT, DELETE, None), (ASSIGNMENT, DELETE, None))
    _await_value(recorder, group, ASSIGNMENT, "1000", DEFAULT)
    _await_listed(recorder)
    _change(recorder, "delete what is not there", group, (SESSION, DELETE, None), ("nonsense", DELETE, None))
    _change(recorder, "nothing", group)


def refusing(recorder: ResponseRecorder) -> None:
    group = recorder.named("refused")
    for key in KEYS:
        for value in (
            "x",
            "",
            "1.5",
            "0x10",
            "99999999999",
            "-1",
            "0",
            "1",
            "4999",
            "15001",
            "44999",
            "60001",
        ):
            _change(recorder, f"{key} {value}", group, (key, SET, value), validate_only=True)
        _change(recorder, f"{key} null", group, (key, SET, None))
        _change(recorder, f"{key} append", group, (key, APPEND, "1"))
        _change(recorder, f"{key} twice", group, (key, SET, "1"), (key, SET, "2"))
    _change(recorder, "unknown", group, (SESSION, SET, "x"), ("nonsense", SET, "1"))
    _change(recorder, "append to unknown", group, ("nonsense", APPEND, "1"))
    _change(recorder, "two unreadable", group, (ASSIGNMENT, SET, "x"), (SESSION, SET, "y"))
    _change(recorder, "two out of bounds", group, (SESSION, SET, "1"), (HEARTBEAT, SET, "1"))
    _change(recorder, "unreadable and out of bounds", group, (HEARTBEAT, SET, "1"), (ASSIGNMENT, SET, "-1"))
    _change(recorder, "no name", "", (SESSION, SET, "x"))
    _change(recorder, "no name, unknown", "", ("nonsense", DELETE, None))
    _await_listed(recorder)


def replacing(recorder: ResponseRecorder) -> None:
    group = recorder.named("replaced")
    _replace(
        recorder, "two", group, consumer_session_timeout_ms="50000", consumer_heartbeat_interval_ms="6000"
    )
    _await_value(recorder, group, HEARTBEAT, "6000")
    _replace(recorder, "another", group, consumer_session_timeout_ms="51000")
    _await_value(recorder, group, SESSION, "51000")
    _describe(recorder, "one left", group)
    _replace(recorder, "none", group)
    _await_value(recorder, group, SESSION, "45000", DEFAULT)
    _await_listed(recorder)
    _replace(recorder, "unknown", group, nonsense="1")
    _replace(recorder, "bad value", group, consumer_session_timeout_ms="x")
    _replace(recorder, "out of bounds", group, consumer_session_timeout_ms="1")
    _replace(recorder, "null", group, consumer_session_timeout_ms=None)
    _replace(recorder, "no name", "", consumer_session_timeout_ms="50000")


SCENARIOS = (describing, changing, refusing, replacing)
