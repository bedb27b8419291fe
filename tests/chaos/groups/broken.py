"""A `dray` that forgets commits, to be found out: `python -m tests.chaos.groups.broken ORDER up …`."""

from collections.abc import Sequence

from dray.coordinators.coordinator import GroupCoordinator, OffsetGiven
from dray.groups.asks import Committer
from dray.groups.faults import Fault
from tests.chaos.doomed import run


def confirm_without_committing() -> None:
    """Say of every other commit that it is done, and do nothing."""
    plain = GroupCoordinator.commit
    count = 0

    async def commit(
        self: GroupCoordinator, group_id: str, committer: Committer, offsets: Sequence[OffsetGiven]
    ) -> Fault:
        nonlocal count
        count += 1
        return Fault.NONE if count % 2 else await plain(self, group_id, committer, offsets)

    GroupCoordinator.commit = commit  # type: ignore[method-assign]  # the point of it


if __name__ == "__main__":
    confirm_without_committing()
    run()
