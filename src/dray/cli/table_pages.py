"""What `dray tables` shows, as text or JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from dray.cli.instants import iso
from dray.cli.tables import NOTHING, table

if TYPE_CHECKING:
    from dray.cli.table_look import DescribedTable, ListedTable, TablePartition

_LIST: Final = ("topic", "table", "rows", "files", "bytes", "behind", "differing", "snapshot")
_PARTITIONS: Final = (
    "partition",
    "rows",
    "files",
    "bytes",
    "in table to",
    "log start",
    "log end",
    "differing",
    "behind",
)


def listed_json(found: "Sequence[ListedTable]") -> list[dict[str, object]]:
    return [_listed_json(one) for one in found]


def _listed_json(one: "ListedTable") -> dict[str, object]:
    return {
        "topic": one.topic,
        "topic_id": one.topic_id,
        "table": one.name,
        "rows": sum(part.rows for part in one.partitions),
        "files": sum(part.files for part in one.partitions),
        "bytes": sum(part.size_bytes for part in one.partitions),
        "behind": one.behind,
        "differing": sum(part.differing for part in one.partitions),
        "snapshot_id": one.snapshot_id,
    }


def listed_text(found: "Sequence[ListedTable]") -> str:
    if not found:
        return "there are no tables yet; compaction makes one for each topic with records"
    keys = ("topic", "table", "rows", "files", "bytes", "behind", "differing", "snapshot_id")
    rows = [[_cell(told[key]) for key in keys] for told in map(_listed_json, found)]
    return "\n".join(table(_LIST, rows))


def described_json(found: "DescribedTable") -> dict[str, object]:
    return {
        **_listed_json(found.listed),
        "location": found.place.location,
        "metadata_location": found.place.metadata_location,
        "snapshot_ms": found.place.snapshot_ms,
        "partitions": [{**asdict(part), "behind": part.behind} for part in found.listed.partitions],
        "engines": asdict(found.engines),
    }


def described_text(found: "DescribedTable") -> str:
    one, place = found.listed, found.place
    when = "no snapshot yet" if place.snapshot_ms is None else f"of {iso(place.snapshot_ms)}"
    gone = "" if one.behind is not None else "; there is no such topic any more"
    lines = [
        f"table {one.name} of topic {one.topic}{gone}",
        f"  at        {place.location}",
        f"  metadata  {place.metadata_location}",
        f"  snapshot  {_cell(one.snapshot_id)}, {when}",
        *(f"  {line}" for line in table(_PARTITIONS, [_row(part) for part in one.partitions])),
        "",
        "  to read it elsewhere:",
        f"  DuckDB     {found.engines.duckdb}",
        f"  PyIceberg  {found.engines.pyiceberg}",
        f"  Spark      {found.engines.spark}",
    ]
    return "\n".join(lines)


def _row(part: "TablePartition") -> list[object]:
    told = asdict(part) | {"behind": part.behind}
    return [_cell(value) for value in told.values()]


def _cell(value: object) -> object:
    return NOTHING if value is None else value
