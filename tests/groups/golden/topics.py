"""Topics of a scenario: created, grown and deleted; each call waits until groups see the change."""

from collections.abc import Callable
from typing import Any, Final

from dray.wire.apis.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from dray.wire.apis.create_topics import CreatableTopic, CreateTopicsRequest
from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic
from tests.groups.golden.script import Script

_POLL_S: Final = 0.1
_PROPAGATION_S: Final = 1.0
"""How long after a broker reports a change its groups may still be notified of it."""


async def create_topic(script: Script, name: str = "t", partitions: int = 1) -> None:
    topic = CreatableTopic(name=script.names.own(name), num_partitions=partitions, replication_factor=1)
    created = await script.send_unrecorded(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
    assert created.topics[0].error_code == 0, created
    script.learn_topic(name, created.topics[0].topic_id)
    script.note(f"there is a topic {name} with {_counted(partitions)}")
    await _await_topic(script, name, lambda topic: len(topic.partitions) == partitions)


async def grow_topic(script: Script, name: str, partitions: int) -> None:
    topic = CreatePartitionsTopic(name=script.names.own(name), count=partitions, assignments=None)
    grown = await script.send_unrecorded(CreatePartitionsRequest(topics=[topic], timeout_ms=10_000))
    assert grown.results[0].error_code == 0, grown
    script.note(f"{name} grows to {_counted(partitions)}")
    await _await_topic(script, name, lambda topic: len(topic.partitions) == partitions)


async def delete_topic(script: Script, name: str) -> None:
    topic = DeleteTopicState(name=script.names.own(name))
    deleted = await script.send_unrecorded(DeleteTopicsRequest(topics=[topic], timeout_ms=10_000))
    assert deleted.responses[0].error_code == 0, deleted
    script.note(f"{name} is deleted")
    await _await_topic(script, name, lambda topic: topic.error_code != 0)


async def _await_topic(script: Script, name: str, fulfilled: Callable[[Any], bool]) -> None:
    topic = MetadataRequestTopic(name=script.names.own(name))
    request = MetadataRequest(topics=[topic], allow_auto_topic_creation=False)
    while not fulfilled((await script.send_unrecorded(request)).topics[0]):
        await script.pause(_POLL_S)
    await script.pause(_PROPAGATION_S)


def _counted(partitions: int) -> str:
    return "1 partition" if partitions == 1 else f"{partitions} partitions"
