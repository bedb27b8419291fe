"""A client that is not a member: an administrator, or a reader of offsets.

Methods take the names of the scenario and send those of the run. The default version of a request is the
highest one that uses topic names.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from dray.wire import Message
from dray.wire.apis.consumer_group_describe import ConsumerGroupDescribeRequest
from dray.wire.apis.delete_groups import DeleteGroupsRequest
from dray.wire.apis.describe_groups import DescribeGroupsRequest
from dray.wire.apis.list_groups import ListGroupsRequest
from dray.wire.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from dray.wire.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from dray.wire.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.groups.golden.script import Call, OnResponse, Script, ignore_response

Offsets = Mapping[str, Mapping[int, int]]
Parts = Mapping[str, Sequence[int]]
GROUP: Final = "g"
BY_ID: Final = 10
"""From this version on, offsets are committed and fetched by topic id."""


class Client:
    """Sends requests under a name, by default about one group."""

    def __init__(self, script: Script, name: str, group: str = GROUP) -> None:
        self.script = script
        self.name = name
        self.group = group

    def ask(self, request: Message, version: int, remember: OnResponse = ignore_response) -> Call:
        return self.script.ask(self.name, request, version, remember, client_id=self.name)

    # Offsets

    def commit(
        self,
        offsets: Offsets,
        version: int = 9,
        *,
        epoch: int = -1,
        member_id: str = "",
        instance_id: str | None = None,
        metadata: str | None = "",
        leader_epoch: int = -1,
        retention_ms: int = -1,
    ) -> Call:
        request = OffsetCommitRequest(
            group_id=self._own(self.group),
            generation_id_or_member_epoch=epoch,
            member_id=member_id,
            group_instance_id=instance_id,
            retention_time_ms=retention_ms,
            topics=[
                OffsetCommitRequestTopic(
                    name=self._own(topic),
                    topic_id=self.script.topic_id(topic) if version >= BY_ID else bytes(16),
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=partition,
                            committed_offset=offset,
                            committed_leader_epoch=leader_epoch,
                            committed_metadata=metadata,
                        )
                        for partition, offset in parts.items()
                    ],
                )
                for topic, parts in offsets.items()
            ],
        )
        return self.ask(request, version)

    def fetch(
        self,
        parts: Parts | None,
        version: int = 9,
        *,
        member_id: str | None = None,
        epoch: int = -1,
        require_stable: bool = False,
    ) -> Call:
        """Fetch committed offsets; None means all."""
        if version < 8:
            request = OffsetFetchRequest(
                group_id=self._own(self.group),
                topics=None if parts is None else self._names(parts),
                require_stable=require_stable,
            )
            return self.ask(request, version)
        wanted = OffsetFetchRequestGroup(
            group_id=self._own(self.group),
            member_id=member_id,
            member_epoch=epoch,
            topics=None if parts is None else self._topics(parts, version),
        )
        return self.ask(OffsetFetchRequest(groups=[wanted], require_stable=require_stable), version)

    def delete_offsets(self, parts: Parts) -> Call:
        topics = [
            OffsetDeleteRequestTopic(
                name=self._own(topic),
                partitions=[OffsetDeleteRequestPartition(partition_index=number) for number in numbers],
            )
            for topic, numbers in parts.items()
        ]
        return self.ask(OffsetDeleteRequest(group_id=self._own(self.group), topics=topics), 0)

    # Groups

    def describe(self, *groups: str, version: int = 6, allowed: bool = False) -> Call:
        request = DescribeGroupsRequest(groups=self._groups(groups), include_authorized_operations=allowed)
        return self.ask(request, version)

    def describe_consumer(self, *groups: str, version: int = 1, allowed: bool = False) -> Call:
        request = ConsumerGroupDescribeRequest(
            group_ids=self._groups(groups), include_authorized_operations=allowed
        )
        return self.ask(request, version)

    def list_groups(self, states: Iterable[str] = (), types: Iterable[str] = (), version: int = 5) -> Call:
        request = ListGroupsRequest(states_filter=[*states], types_filter=[*types])
        return self.ask(request, version)

    def delete(self, *groups: str, version: int = 2) -> Call:
        return self.ask(DeleteGroupsRequest(groups_names=self._groups(groups)), version)

    def _names(self, parts: Parts) -> list[OffsetFetchRequestTopic]:
        return [
            OffsetFetchRequestTopic(name=self._own(topic), partition_indexes=[*numbers])
            for topic, numbers in parts.items()
        ]

    def _topics(self, parts: Parts, version: int) -> list[OffsetFetchRequestTopics]:
        return [
            OffsetFetchRequestTopics(
                name=self._own(topic),
                topic_id=self.script.topic_id(topic) if version >= BY_ID else bytes(16),
                partition_indexes=[*numbers],
            )
            for topic, numbers in parts.items()
        ]

    def _groups(self, groups: tuple[str, ...]) -> list[str]:
        return [self._own(group) for group in groups or (self.group,)]

    def _own(self, name: str) -> str:
        return self.script.names.own(name)
