"""Broker that drops offset commits, a bug to catch: `python -m tests.chaos.groups.broken ARMED up …`."""

from collections.abc import Mapping

from dray.coordinators.coordinator import GroupCoordinator
from dray.groups.commands import OffsetCommitter
from dray.groups.types import CommittedOffset, GroupError, TopicPartition
from tests.chaos.failpoints import run

Offsets = Mapping[TopicPartition, CommittedOffset]


def confirm_without_committing() -> None:
    """Confirm every other commit without storing it."""
    plain = GroupCoordinator.commit
    count = 0

    async def commit(
        self: GroupCoordinator, group_id: str, committer: OffsetCommitter, offsets: Offsets
    ) -> GroupError:
        nonlocal count
        count += 1
        return GroupError.NONE if count % 2 else await plain(self, group_id, committer, offsets)

    GroupCoordinator.commit = commit  # type: ignore[method-assign]  # the point of it


if __name__ == "__main__":
    confirm_without_committing()
    run()
