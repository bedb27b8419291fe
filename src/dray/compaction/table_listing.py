"""The catalog's tables at the start of a pass, with rate-limited reports of those that cannot be used."""

from typing import Final

from dray.cluster.topics import TopicCatalog
from dray.compaction.backoff import Backoff
from dray.compaction.failures import FailureReporter
from dray.observe import get_logger
from dray.tables.port import Listing, Tables, TablesError

_log = get_logger("compaction")
_CATALOG: Final = "catalog"


class TableListing:
    """Lists the tables once a pass; remembers what it has reported."""

    def __init__(
        self, tables: Tables, topics: TopicCatalog, backoff: Backoff, reporter: FailureReporter
    ) -> None:
        self._tables = tables
        self._topics = topics
        self._backoff = backoff
        self._reporter = reporter
        self._unreadable: set[tuple[str, str]] = set()
        self._elsewhere: set[str] = set()

    async def load(self) -> Listing | None:
        """Return the tables, or None if the catalog is unavailable."""
        if self._backoff.is_backing_off(_CATALOG):
            return None
        try:
            listed = await self._tables.listing()
        except TablesError as error:
            self._reporter.report(_CATALOG, _CATALOG, "catalog_unavailable", error=str(error))
            return None
        self._backoff.succeeded(_CATALOG)
        self._report(listed)
        return listed

    def _report(self, listed: Listing) -> None:
        """Report unreadable tables, less and less often, and renamed tables once."""
        unreadable = self._reasons(listed)
        for (kind, name), reason in unreadable.items():
            if not self._backoff.is_backing_off((kind, name)):
                self._reporter.report((kind, name), "topic", "table_unreadable", **{kind: name}, error=reason)
        for key in self._unreadable - unreadable.keys():
            self._backoff.succeeded(key)
        for name in listed.elsewhere.keys() - self._elsewhere:
            topic = listed.elsewhere[name].topic
            _log.warning(
                "table_renamed",
                table=name,
                topic=topic,
                remedy="Dray ignores it; drop it if it is not needed",
            )
        self._unreadable, self._elsewhere = set(unreadable), set(listed.elsewhere)

    def _reasons(self, listed: Listing) -> dict[tuple[str, str], str]:
        """Return why tables are unreadable, by topic for those of existing topics, else by table."""
        reasons: dict[tuple[str, str], str] = {}
        for name, reason in (*listed.unreadable.items(), *listed.unreadable_others.items()):
            if self._topics.find(name) is not None and name in listed.unreadable:
                reasons["topic", name] = str(reason)
            else:
                reasons["table", name] = f"{reason}; files of deleted topics wait for it"
        return reasons
