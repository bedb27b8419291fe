"""Output of `dray tables`, as text and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from dray.cli.render.formats import NOTHING, iso, table

if TYPE_CHECKING:
    from dray.server.table_query import DescribedTable, ListedTable, TablePartition

_LIST: Final = ("topic", "table", "rows", "files", "bytes", "lag", "differing", "snapshot")
_PARTITIONS: Final = (
    "partition",
    "rows",
    "files",
    "bytes",
    "table end",
    "log start",
    "log end",
    "differing",
    "lag",
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
        "lag": one.lag,
        "differing": sum(part.differing for part in one.partitions),
        "snapshot_id": one.snapshot_id,
    }


def listed_text(found: "Sequence[ListedTable]") -> str:
    if not found:
        return "there are no tables yet; compaction creates one for each topic with records"
    keys = ("topic", "table", "rows", "files", "bytes", "lag", "differing", "snapshot_id")
    rows = [[_cell(fields[key]) for key in keys] for fields in map(_listed_json, found)]
    return "\n".join(table(_LIST, rows))


def described_json(found: "DescribedTable") -> dict[str, object]:
    return {
        **_listed_json(found.listed),
        "location": found.place.location,
        "metadata_location": found.place.metadata_location,
        "snapshot_ms": found.place.snapshot_ms,
        "partitions": [{**asdict(part), "lag": part.lag} for part in found.listed.partitions],
        "engines": asdict(found.engines),
    }


def described_text(found: "DescribedTable") -> str:
    one, place = found.listed, found.place
    when = "no snapshot yet" if place.snapshot_ms is None else f"of {iso(place.snapshot_ms)}"
    deleted = "" if one.lag is not None else ", which was deleted"
    lines = [
        f"table {one.name} of topic {one.topic}{deleted}",
        f"  location  {place.location}",
        f"  metadata  {place.metadata_location}",
        f"  snapshot  {_cell(one.snapshot_id)}, {when}",
        *(f"  {line}" for line in table(_PARTITIONS, [_row(part) for part in one.partitions])),
        "",
        "  read it with:",
        f"  DuckDB     {found.engines.duckdb}",
        f"  PyIceberg  {found.engines.pyiceberg}",
        f"  Spark      {found.engines.spark}",
    ]
    return "\n".join(lines)


def _row(part: "TablePartition") -> list[object]:
    return [_cell(value) for value in (asdict(part) | {"lag": part.lag}).values()]


def _cell(value: object) -> object:
    return NOTHING if value is None else value
