"""Topics of a scenario: made, grown and deleted, each time waited for until groups know of it."""

from collections.abc import Callable
from typing import Any, Final

from dray.wire.apis.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from dray.wire.apis.create_topics import CreatableTopic, CreateTopicsRequest
from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic
from tests.groups.golden.script import Script

_LOOK_S: Final = 0.1
_SPREAD_S: Final = 1.0
"""How long after a broker tells of a change its groups may still hear of it."""


async def make_topic(script: Script, name: str = "t", partitions: int = 1) -> None:
    wanted = CreatableTopic(name=script.names.own(name), num_partitions=partitions, replication_factor=1)
    made = await script.unseen(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000))
    assert made.topics[0].error_code == 0, made
    script.learn_topic(name, made.topics[0].topic_id)
    script.note(f"there is a topic {name} with {_counted(partitions)}")
    await _await_topic(script, name, lambda told: len(told.partitions) == partitions)


async def grow_topic(script: Script, name: str, partitions: int) -> None:
    wanted = CreatePartitionsTopic(name=script.names.own(name), count=partitions, assignments=None)
    grown = await script.unseen(CreatePartitionsRequest(topics=[wanted], timeout_ms=10_000))
    assert grown.results[0].error_code == 0, grown
    script.note(f"{name} grows to {_counted(partitions)}")
    await _await_topic(script, name, lambda told: len(told.partitions) == partitions)


async def delete_topic(script: Script, name: str) -> None:
    wanted = DeleteTopicState(name=script.names.own(name))
    deleted = await script.unseen(DeleteTopicsRequest(topics=[wanted], timeout_ms=10_000))
    assert deleted.responses[0].error_code == 0, deleted
    script.note(f"{name} is deleted")
    await _await_topic(script, name, lambda told: told.error_code != 0)


async def _await_topic(script: Script, name: str, fulfilled: Callable[[Any], bool]) -> None:
    wanted = MetadataRequestTopic(name=script.names.own(name))
    request = MetadataRequest(topics=[wanted], allow_auto_topic_creation=False)
    while not fulfilled((await script.unseen(request)).topics[0]):
        await script.pause(_LOOK_S)
    await script.pause(_SPREAD_S)


def _counted(partitions: int) -> str:
    return "1 partition" if partitions == 1 else f"{partitions} partitions"
