"""Partitions of keys: the kernel equals librdkafka's murmur2."""

import pyarrow as pa
import pytest
from confluent_kafka import murmur2
from hypothesis import given
from hypothesis import strategies as st

from dray.records.columns.partitions import partitions_of


@given(keys=st.lists(st.binary(max_size=40), max_size=30), partitions=st.integers(1, 1_000))
def test_partitions_equal_those_of_librdkafka(keys: list[bytes], partitions: int) -> None:
    found = partitions_of(pa.array(keys, pa.binary()), partitions)
    assert found.tolist() == [murmur2(key, partitions) for key in keys]


@given(keys=st.lists(st.none() | st.binary(max_size=9), min_size=3, max_size=30), skipped=st.integers(0, 3))
def test_partitions_of_slices_with_nulls_equal_librdkafkas(keys: list[bytes | None], skipped: int) -> None:
    found = partitions_of(pa.array(keys, pa.binary())[skipped:], 7)
    for key, partition in zip(keys[skipped:], found.tolist(), strict=True):
        assert key is None or partition == murmur2(key, 7)


@pytest.mark.parametrize("keys", [[], [None, None]])
def test_column_without_keys_has_one_partition_per_row(keys: list[None]) -> None:
    assert len(partitions_of(pa.array(keys, pa.binary()), 3)) == len(keys)
