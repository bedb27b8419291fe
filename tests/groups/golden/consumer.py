"""A member of the consumer protocol (KIP-848), which remembers its epoch and assignment."""

from typing import Final

from dray.wire.apis.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.groups.golden.client import GROUP, Client, Offsets, Parts
from tests.groups.golden.script import Call, Script

REBALANCE_MS: Final = 60_000
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2


class ConsumerMember(Client):
    """A consumer protocol member. By default its id is its name."""

    def __init__(
        self,
        script: Script,
        name: str,
        *,
        instance_id: str | None = None,
        rebalance_ms: int = REBALANCE_MS,
        member_id: str | None = None,
        group: str = GROUP,
    ) -> None:
        super().__init__(script, name, group)
        self.id = name if member_id is None else member_id
        self.instance_id = instance_id
        self.rebalance_ms = rebalance_ms
        self.epoch = 0
        self.assigned: dict[bytes, list[int]] = {}

    def join(
        self,
        topics: tuple[str, ...] | None = ("t",),
        version: int = 1,
        *,
        regex: str | None = None,
        assignor: str | None = None,
        rack: str | None = None,
    ) -> Call:
        """Join, or rejoin."""
        return self.heartbeat(
            version,
            epoch=0,
            topics=topics,
            regex=regex,
            assignor=assignor,
            rack=rack,
            rebalance_ms=self.rebalance_ms,
            owned={},
        )

    def heartbeat(
        self,
        version: int = 1,
        *,
        epoch: int | None = None,
        topics: tuple[str, ...] | None = None,
        regex: str | None = None,
        assignor: str | None = None,
        rack: str | None = None,
        rebalance_ms: int = -1,
        owned: Parts | None = None,
    ) -> Call:
        """Send a heartbeat with the given fields."""
        return self._send(
            ConsumerGroupHeartbeatRequest(
                group_id=self._own(self.group),
                member_id=self.id,
                member_epoch=self.epoch if epoch is None else epoch,
                instance_id=self.instance_id,
                rack_id=rack,
                rebalance_timeout_ms=rebalance_ms,
                subscribed_topic_names=None if topics is None else [self._own(topic) for topic in topics],
                subscribed_topic_regex=None if regex is None else self._own(regex),
                server_assignor=assignor,
                topic_partitions=None if owned is None else self._partitions(owned),
            ),
            version,
        )

    def confirm(self, version: int = 1) -> Call:
        """Report that it owns exactly what it is assigned."""
        topics = sorted(self.assigned, key=self.script.names.topic)
        owned = [TopicPartitions(topic_id=topic, partitions=self.assigned[topic]) for topic in topics]
        return self._send(
            ConsumerGroupHeartbeatRequest(
                group_id=self._own(self.group),
                member_id=self.id,
                member_epoch=self.epoch,
                instance_id=self.instance_id,
                topic_partitions=owned,
            ),
            version,
        )

    def leave(self, version: int = 1) -> Call:
        return self.heartbeat(version, epoch=LEAVE_EPOCH)

    def leave_temporarily(self, version: int = 1) -> Call:
        """Leave like a static member that will return."""
        return self.heartbeat(version, epoch=STATIC_LEAVE_EPOCH)

    def commit_as_member(self, offsets: Offsets, version: int = 9, *, epoch: int | None = None) -> Call:
        """Commit as this member."""
        return self.commit(
            offsets,
            version,
            epoch=self.epoch if epoch is None else epoch,
            member_id=self.id,
            instance_id=self.instance_id if version >= 7 else None,
        )

    def fetch_as_member(self, parts: Parts | None, version: int = 9, *, epoch: int | None = None) -> Call:
        """Fetch offsets as this member."""
        return self.fetch(parts, version, member_id=self.id, epoch=self.epoch if epoch is None else epoch)

    def _send(self, request: ConsumerGroupHeartbeatRequest, version: int) -> Call:
        return self.ask(request, version, self._on_heartbeat_response)

    def _on_heartbeat_response(self, response: ConsumerGroupHeartbeatResponse) -> None:
        if response.error_code:
            return
        self.id = response.member_id or self.id
        self.epoch = response.member_epoch
        if response.assignment is not None:
            self.assigned = {of.topic_id: list(of.partitions) for of in response.assignment.topic_partitions}

    def _partitions(self, owned: Parts) -> list[TopicPartitions]:
        return [
            TopicPartitions(topic_id=self.script.topic_id(topic), partitions=list(numbers))
            for topic, numbers in owned.items()
        ]
