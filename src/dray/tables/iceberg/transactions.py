"""A transaction that works out the table's metadata once for each change to it.

PyIceberg does so at every look, sixteen times in a commit, and each time copies all snapshots: most of what a
commit costs, and what made it dearer with every snapshot that is kept.
"""

from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate


class RememberingTransaction(Transaction):
    """What it returns as metadata must not be changed, and nobody does."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._known: tuple[TableMetadata, tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        base, updates = self._table.metadata, self._updates
        if self._known is None or self._known[0] is not base or self._known[1] is not updates:
            self._known = (base, updates, super().table_metadata)
        return self._known[2]
