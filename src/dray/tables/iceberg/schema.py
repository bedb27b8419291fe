"""Schema, partitioning and properties of topics' tables, and checks that a table still fits them.

Our Parquet files carry field ids, by which Iceberg resolves columns, so users may add columns, and rename
ours, move them or make them optional. They must not drop or retype one, nor change the partitioning: our next
file would not fit. Catalogs renumber fields level by level when they create a table; ours are in that order
already, so they stay the same.
"""

from collections.abc import Iterator
from typing import Final

from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from dray.formats import parquet_v1
from dray.tables.port import TableAltered

PARTITION: Final = 1
OFFSET: Final = 2
TIMESTAMP: Final = 3

SCHEMA: Final = pyarrow_to_schema(parquet_v1.SCHEMA)

SPEC: Final = PartitionSpec(PartitionField(PARTITION, 1000, IdentityTransform(), "partition"))
"""By partition only: a file may hold the records of several days."""

METRICS: Final = {
    "write.metadata.metrics.default": "none",
    "write.metadata.metrics.column.partition": "full",
    "write.metadata.metrics.column.offset": "full",
    "write.metadata.metrics.column.timestamp": "full",
}
"""Bounds only for columns by which readers skip files. Our files have none for keys and values."""

_VERSION: Final = 2
MAINTENANCE: Final = {
    "format-version": str(_VERSION),
    # A retry must first check whether the commit took effect; PyIceberg's own retries do not.
    "commit.retry.num-retries": "0",
    # A commit must cost the same after a year: few manifests, and a bounded history of metadata files.
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "20",
    # A merge rewrites every entry of the manifests it joins, in Python; so manifests stay small.
    "commit.manifest.target-size-bytes": "262144",
    # The data files are log segments too: engines that honor this never delete them.
    "gc.enabled": "false",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


def check_version(found: Table) -> None:
    """Check that we can write to a table of its format version."""
    if found.format_version != _VERSION:
        raise TableAltered(
            f"table {'.'.join(found.name())} has format version {found.format_version}, and Dray writes "
            f"version {_VERSION}. Rename the table, and Dray builds a new one from the files of the log"
        )


def misfits(schema: Schema, spec: PartitionSpec) -> list[str]:
    """Return the reasons why our files do not fit this schema and partitioning; empty if they fit."""
    return [*_columns(schema), *_partitioning(spec)]


def _columns(schema: Schema) -> Iterator[str]:
    theirs = {field_id: schema.find_field(field_id) for field_id in schema.field_ids}
    for field_id in sorted(SCHEMA.field_ids):
        ours, found = SCHEMA.find_field(field_id), theirs.pop(field_id, None)
        name = SCHEMA.find_column_name(field_id)
        if found is None:
            yield f"column {name} (field {field_id}) was dropped"
        elif ours.field_type.is_primitive and found.field_type != ours.field_type:
            yield f"column {name} (field {field_id}) was {ours.field_type} and is {found.field_type}"
    for field_id, added in theirs.items():
        if added.required and added.initial_default is None:
            yield f"column {schema.find_column_name(field_id)} was added, is required and has no default"


def _partitioning(spec: PartitionSpec) -> Iterator[str]:
    actual, expected = (
        [(field.source_id, str(field.transform)) for field in one.fields if str(field.transform) != "void"]
        for one in (spec, SPEC)
    )
    if actual != expected:
        yield f"expected partitioning by {_words(SPEC)}, found {_words(spec)}"


def _words(spec: PartitionSpec) -> str:
    return ", ".join(f"{field.transform}(field {field.source_id})" for field in spec.fields) or "nothing"
