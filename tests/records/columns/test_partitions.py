"""Keys go where Kafka's default partitioner puts them: the kernel beside the plain version."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cli.client.partitioner import partition_of_key
from dray.records.columns.partitions import partitions_of


@given(keys=st.lists(st.binary(max_size=40), max_size=30), partitions=st.integers(1, 1_000))
def test_as_the_plain_version(keys: list[bytes], partitions: int) -> None:
    found = partitions_of(pa.array(keys, pa.binary()), partitions)
    assert found.tolist() == [partition_of_key(key, partitions) for key in keys]


@given(keys=st.lists(st.none() | st.binary(max_size=9), min_size=3, max_size=30), skipped=st.integers(0, 3))
def test_slices_and_nulls(keys: list[bytes | None], skipped: int) -> None:
    found = partitions_of(pa.array(keys, pa.binary())[skipped:], 7)
    for key, partition in zip(keys[skipped:], found.tolist(), strict=True):
        assert key is None or partition == partition_of_key(key, 7)


@pytest.mark.parametrize("keys", [[], [None, None]])
def test_nothing_to_hash(keys: list[None]) -> None:
    assert len(partitions_of(pa.array(keys, pa.binary()), 3)) == len(keys)
