"""Reading and changing configs."""

from dray.wire.apis import alter_configs, describe_configs, incremental_alter_configs
from dray.wire.apis.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from tests.oracle.transcripts import ResponseRecorder

TOPIC, BROKER = 2, 4
SET_FOR_TOPIC = 1
SHOWN = [
    "cleanup.policy",
    "compression.type",
    "max.message.bytes",
    "message.timestamp.type",
    "min.insync.replicas",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
]
"""What people look at, with the same defaults in both."""


def _described(kind: int, name: str, keys: list[str] | None) -> describe_configs.DescribeConfigsResource:
    return describe_configs.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=keys
    )


def describing(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("configs", retention_ms="12345")
    for version in range(1, 5):
        for label, resource in {
            "some": _described(TOPIC, topic.name, SHOWN),
            "one that is not": _described(TOPIC, topic.name, ["nonsense"]),
            "no keys": _described(TOPIC, topic.name, []),
            "unknown topic": _described(TOPIC, recorder.named("configs-absent"), None),
            "bad name": _described(TOPIC, "a/b", None),
            "another broker": _described(BROKER, "99", None),
            "not a number": _described(BROKER, "x", None),
            "unknown kind": _described(77, "x", None),
        }.items():
            for synonyms in (True, False):
                request = describe_configs.DescribeConfigsRequest(
                    resources=[resource], include_synonyms=synonyms
                )
                text = f"{label}, synonyms {synonyms}"
                recorder.send(request, describe_configs.DescribeConfigsResponse, version, text)


def all_of_a_topic(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("all-configs")
    request = describe_configs.DescribeConfigsRequest(
        resources=[_described(TOPIC, topic.name, None)], include_synonyms=False
    )
    recorder.send(request, describe_configs.DescribeConfigsResponse, 4, "all")


def incremental(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("incremental")

    def change(label: str, name: str, operation: int, value: str | None, target: str = topic.name) -> None:
        config = incremental_alter_configs.AlterableConfig(name=name, config_operation=operation, value=value)
        resource = incremental_alter_configs.AlterConfigsResource(
            resource_type=TOPIC, resource_name=target, configs=[config]
        )
        for version in (0, 1):
            request = incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[resource])
            recorder.send(request, incremental_alter_configs.IncrementalAlterConfigsResponse, version, label)

    change("set", "retention.ms", 0, "777")
    change("append to a config that is not a list", "retention.ms", 2, "1")
    change("delete", "retention.ms", 1, None)
    change("set to null", "retention.ms", 0, None)
    change("unknown", "nonsense", 0, "1")
    change("bad value", "retention.ms", 0, "x")
    change("unknown operation", "retention.ms", 9, "1")
    change("unknown topic", "retention.ms", 0, "1", recorder.named("incremental-absent"))
    change("append", "cleanup.policy", 2, "compact")
    change("subtract", "cleanup.policy", 3, "delete")
    _await_change(recorder, topic.name, "cleanup.policy", "compact")
    request = describe_configs.DescribeConfigsRequest(
        resources=[_described(TOPIC, topic.name, SHOWN)], include_synonyms=True
    )
    recorder.send(request, describe_configs.DescribeConfigsResponse, 4, "after all that")


def _await_change(recorder: ResponseRecorder, topic: str, key: str, value: str) -> None:
    """Wait for the change to be propagated to Apache Kafka's brokers."""
    request = describe_configs.DescribeConfigsRequest(resources=[_described(TOPIC, topic, [key])])
    while True:
        found = recorder.client.send(request, describe_configs.DescribeConfigsResponse).results[0].configs[0]
        if found.config_source == SET_FOR_TOPIC and found.value == value:
            return


def replacing(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("replacing", retention_ms="5")
    for label, name, value, target in (
        ("valid", "segment.ms", "70000", topic.name),
        ("unknown", "nonsense", "1", topic.name),
        ("bad value", "segment.ms", "x", topic.name),
        ("null", "segment.ms", None, topic.name),
        ("unknown topic", "segment.ms", "70000", recorder.named("replacing-absent")),
    ):
        config = alter_configs.AlterableConfig(name=name, value=value)
        resource = alter_configs.AlterConfigsResource(
            resource_type=TOPIC, resource_name=target, configs=[config]
        )
        for version in range(3):
            request = alter_configs.AlterConfigsRequest(resources=[resource])
            recorder.send(request, alter_configs.AlterConfigsResponse, version, label)


def resources(recorder: ResponseRecorder) -> None:
    recorder.send(ListConfigResourcesRequest(), ListConfigResourcesResponse, 0, "metrics")
    for kind in (4, 16, 99):
        request = ListConfigResourcesRequest(resource_types=[kind])
        recorder.send(request, ListConfigResourcesResponse, 1, f"kind {kind}")


SCENARIOS = (describing, all_of_a_topic, incremental, replacing, resources)
