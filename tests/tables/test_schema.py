"""Columns of tables: those of our files; changes by other engines are classified correctly."""

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.transforms import BucketTransform, VoidTransform
from pyiceberg.types import LongType, NestedField, StringType

from dray.tables.iceberg.schema import SCHEMA, SPEC, misfits


def with_fields(*changed: NestedField, without: tuple[int, ...] = ()) -> Schema:
    by_id = {field.field_id: field for field in (*SCHEMA.fields, *changed)}
    return Schema(*(field for number, field in by_id.items() if number not in without))


def test_columns_match_the_format_page() -> None:
    assert (
        str(SCHEMA)
        == """table {
  1: partition: required int
  2: offset: required long
  3: timestamp: required timestamptz
  4: key: optional binary
  5: value: optional binary
  6: headers: required list<struct<13: key: required string, 14: value: optional binary>>
  7: producer_id: optional long
  8: producer_epoch: optional int
  9: base_sequence: optional int
  10: attributes: required int
  11: record_crc: optional int
}"""
    )
    assert SCHEMA.find_field(12).required


def test_field_ids_survive_renumbering_by_a_catalog() -> None:
    assert assign_fresh_schema_ids(SCHEMA) == SCHEMA


def test_table_that_dray_created_fits() -> None:
    assert misfits(SCHEMA, SPEC) == []


def test_column_that_was_added_renamed_or_made_optional_fits() -> None:
    altered = with_fields(
        NestedField(20, "country", StringType(), required=False),
        NestedField(5, "payload", SCHEMA.find_field(5).field_type, required=False),
        NestedField(10, "attributes", SCHEMA.find_field(10).field_type, required=False),
    )
    assert misfits(altered, SPEC) == []


def test_mismatches_are_named() -> None:
    altered = with_fields(
        NestedField(20, "country", StringType(), required=True),
        NestedField(10, "attributes", LongType(), required=True),
        without=(4, 6),
    )
    assert misfits(altered, SPEC) == [
        "column key (field 4) was dropped",
        "column headers (field 6) was dropped",
        "column attributes (field 10) was int and is long",
        "column headers.element (field 12) was dropped",
        "column headers.element.key (field 13) was dropped",
        "column headers.element.value (field 14) was dropped",
        "column country was added, is required and has no default",
    ]


def test_another_partitioning_does_not_fit() -> None:
    bucketed = PartitionSpec(*SPEC.fields, PartitionField(2, 1001, BucketTransform(16), "b"))
    [wrong] = misfits(SCHEMA, bucketed)
    assert wrong == (
        "expected partitioning by identity(field 1), found identity(field 1), bucket[16](field 2)"
    )
    assert misfits(SCHEMA, PartitionSpec())


def test_partition_field_that_was_added_and_removed_again_fits() -> None:
    undone = PartitionSpec(*SPEC.fields, PartitionField(2, 1001, VoidTransform(), "b"))
    assert misfits(SCHEMA, undone) == []
