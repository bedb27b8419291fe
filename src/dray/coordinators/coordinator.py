"""Group coordinator: serves the commands of all groups on this broker.

A command is applied by the shard of its group (`shards`, `shard`), which calls the pure machine of
`dray.groups`, commits the result and completes pending replies.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from dray.coordinators.context import CoordinatorDeps
from dray.coordinators.group_store import GroupStore, StoredOffset
from dray.coordinators.shard import Command, GroupsClosed
from dray.coordinators.shards import GroupShards
from dray.coordinators.topics import DescribableTopics, RegexTooSlow, prematch
from dray.groups import machine
from dray.groups.classic import ClassicGroup
from dray.groups.commands import ConsumerHeartbeat, Heartbeat, Join, Leave, OffsetCommitter, Sync
from dray.groups.consumer import ConsumerGroup
from dray.groups.limits import GroupLimits
from dray.groups.results import ConsumerHeartbeatResult, JoinResult, Outcome, SyncResult
from dray.groups.stored import Group
from dray.groups.types import CommittedOffset, GroupError, TopicPartition, TopicsImage
from dray.meta.port import MetaError

R = TypeVar("R")
_RESTARTS_SESSION = (GroupError.NONE, GroupError.REBALANCE_IN_PROGRESS)


def _everything(_: str) -> bool:
    return True


class GroupsUnavailable(Exception):
    """The metadata store is unavailable; whether the groups have changed is unknown."""


class GroupCoordinator:
    """Serves all groups."""

    def __init__(self, deps: CoordinatorDeps) -> None:
        self._deps = deps
        self.store = GroupStore(deps.meta, deps.domains)
        self._shards = GroupShards(deps, self.store)
        self._draining = False

    async def start(self) -> None:
        """Begin to serve; returns once all groups have been read."""
        await self._shards.start()

    def drain(self) -> None:
        """Answer every pending request with `GroupsClosed` at once, and every later one.

        Called when a broker begins to stop, before connections are drained, so that clients look for another
        coordinator instead of holding their connections open.
        """
        self._draining = True
        self._shards.close()

    def owns(self, group_id: str) -> bool:
        """Return whether this broker owns a group: runs its timers and takes over members of dead brokers."""
        return self._shards.owns(group_id)

    def owned_groups(self) -> list[str]:
        """Return the groups that this broker owns."""
        return self._shards.owned_groups()

    def limits_of(self, group_id: str) -> GroupLimits:
        return self._deps.limits_of(group_id)

    # Members

    async def join(
        self, group_id: str, command: Join, may_describe: Callable[[str], bool] = _everything
    ) -> JoinResult:
        result: JoinResult = await self._apply(
            group_id,
            lambda group, env: machine.join(group, command, env),
            DescribableTopics(self._deps.topics, may_describe),
            member_id=command.member_id,
        )
        self._restart_session(group_id, result.member_id, result.error)
        return result

    async def sync(self, group_id: str, command: Sync) -> SyncResult:
        result: SyncResult = await self._apply(
            group_id, lambda group, env: machine.sync(group, command, env), member_id=command.member_id
        )
        self._restart_session(group_id, command.member_id, result.error)
        return result

    async def heartbeat(self, group_id: str, command: Heartbeat) -> GroupError:
        error = await self._apply(
            group_id, lambda group, _: machine.heartbeat(group, command), member_id=command.member_id
        )
        self._restart_session(group_id, command.member_id, error)
        return error

    async def leave(self, group_id: str, command: Leave) -> tuple[GroupError, ...]:
        return await self._apply(group_id, lambda group, env: machine.leave(group, command, env))

    async def consumer_heartbeat(
        self, group_id: str, command: ConsumerHeartbeat, may_describe: Callable[[str], bool] = _everything
    ) -> ConsumerHeartbeatResult:
        """Apply a heartbeat. Of the topics that a regex matches, the group reads those that may be described.

        As in Kafka, that is up to the member whose heartbeat has the regex evaluated.
        """
        try:
            await self._prematch(group_id, command)
        except RegexTooSlow as error:
            message = f"SubscribedTopicRegex `{command.regex}` is refused: {error}."
            return ConsumerHeartbeatResult(GroupError.INVALID_REGULAR_EXPRESSION, message)
        result = await self._apply(
            group_id,
            lambda group, env: machine.consumer_heartbeat(group, command, env),
            DescribableTopics(self._deps.topics, may_describe),
            member_id=command.member_id,
        )
        self._restart_session(group_id, result.member_id or command.member_id, result.error)
        return result

    async def _prematch(self, group_id: str, command: ConsumerHeartbeat) -> None:
        shard = self._shards.find(group_id)
        known = shard.group if shard is not None else None
        if command.regex and not (isinstance(known, ConsumerGroup) and command.regex in known.regexes):
            await prematch(command.regex, self._deps.topics.names(), self._deps.clock)

    # Offsets

    async def commit(
        self, group_id: str, committer: OffsetCommitter, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> GroupError:
        """Commit offsets, all or none."""
        error = await self._apply(
            group_id,
            lambda group, env: machine.commit(group, committer, offsets, env),
            member_id=committer.member_id,
        )
        if error is GroupError.NONE:
            self._deps.metrics.committed_offsets.inc(len(offsets))
        if (shard := self._shards.find(group_id)) and isinstance(shard.group, ClassicGroup):
            # In the consumer protocol only heartbeats keep the session alive.
            self._restart_session(group_id, committer.member_id, error)
        return error

    async def fetch_error(self, group_id: str, committer: OffsetCommitter) -> GroupError:
        """Return the error of a fetch; `NONE` if allowed."""
        return machine.fetch_error(await self.find(group_id), committer)

    async def offsets(self, group_id: str, topic: str | None = None) -> list[StoredOffset]:
        """Return the committed offsets of all topics or of one."""
        try:
            return await self.store.offsets(group_id, topic)
        except MetaError as error:
            raise GroupsUnavailable(str(error)) from error

    async def delete_offsets(
        self, group_id: str, partitions: Sequence[TopicPartition]
    ) -> tuple[GroupError, frozenset[str]]:
        """Remove offsets; returns also the topics that the group subscribes to, whose offsets stay."""
        return await self._apply(group_id, lambda group, _: machine.delete_offsets(group, partitions))

    # Groups

    async def find(self, group_id: str) -> Group | None:
        """Return a group, possibly slightly stale."""
        return await self._apply(group_id, lambda group, _: Outcome(group, group))

    def all(self) -> list[tuple[str, Group]]:
        """Return all groups, possibly slightly stale."""
        return self._shards.all()

    async def delete(self, group_id: str) -> GroupError:
        """Delete a group without members, and its offsets."""
        return await self._apply(group_id, lambda group, _: machine.delete(group))

    async def _apply(
        self,
        group_id: str,
        command: Command[R],
        topics: TopicsImage | None = None,
        *,
        member_id: str | None = None,
    ) -> R:
        if self._draining:
            raise GroupsClosed("this broker is stopping; another one serves the group")
        try:
            return await self._shards.get(group_id).apply(command, topics, member_id=member_id)
        except MetaError as error:
            raise GroupsUnavailable(str(error)) from error

    def _restart_session(self, group_id: str, member_id: str, error: GroupError) -> None:
        """Restart the session of a member whose request was accepted."""
        if error in _RESTARTS_SESSION and (shard := self._shards.find(group_id)):
            shard.restart_session(member_id)
