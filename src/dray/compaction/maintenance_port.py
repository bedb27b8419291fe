"""Interface of table maintenance, as the compactor calls it; implemented by `dray.maintenance`."""

from typing import Protocol

from dray.cluster.topics import Topic
from dray.tables.port import Listing


class Maintenance(Protocol):
    """Table maintenance around the rounds, in the order in which a pass calls it."""

    async def drop_orphan_tables(self, listed: Listing) -> None:
        """Drop the tables of deleted topics."""

    async def before_pass(self, listed: Listing | None) -> None:
        """Prepare for a pass; `listed` is None if the catalog cannot be read."""

    async def find_expired_files(self) -> None:
        """Find the files that the log has released and the tables still reference."""

    async def before_round(self, topic: Topic, listed: Listing | None) -> int:
        """Rebuild a dropped table; returns how many files were added to it."""

    async def detach(self, topic: Topic) -> int:
        """Remove the topic's expired files from its table; returns how many."""

    async def after_round(self, topic: Topic, commits: int) -> None:
        """Expire snapshots and set the lag gauge; `commits` is how many the round made to the table."""

    def is_audit_due(self, topic: Topic) -> bool:
        """Return whether the topic's files and table are to be compared with the index now."""

    async def audit(self, topic: Topic) -> int:
        """Compare files and table with the index; returns how many files were restored."""

    async def after_pass(self) -> None:
        """Clean up after deleted topics."""
