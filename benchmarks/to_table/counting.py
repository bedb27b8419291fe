"""Verification of a table by DuckDB, which neither of the two systems uses to write."""

from pathlib import Path

from benchmarks.to_table.cases import PARTITIONS
from tests.tables.duck import reading_iceberg

_QUERY = """
    SELECT partition, count(*), min("offset"), max("offset"), sum(octet_length(value))
    FROM iceberg_scan(?) GROUP BY partition ORDER BY partition
"""


class TableWrong(RuntimeError):
    """A table does not contain what was produced."""


def check(table: Path, records: int, size: int) -> None:
    """Raise `TableWrong` unless each partition has its share of the records and bytes, without a gap."""
    newest = max((table / "metadata").glob("*.metadata.json"), key=lambda path: path.stat().st_mtime_ns)
    with reading_iceberg() as duck:
        found = duck.execute(_QUERY, [str(newest)]).fetchall()
    shares = [len(range(partition, records, PARTITIONS)) for partition in range(PARTITIONS)]
    wanted = [(number, share, 0, share - 1, share * size) for number, share in enumerate(shares) if share]
    if found != wanted:
        raise TableWrong(f"{table.name} has {found}, it should have {wanted}")
