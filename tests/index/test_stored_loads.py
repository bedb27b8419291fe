"""Encoding of stored records of bulk loads, which never changes."""

import pytest

from dray.ids import LoadId, MetaDomain, TopicRef, WalId
from dray.index import CorruptValue, parse_wal_path
from dray.index.loads import (
    Load,
    LoadState,
    decode_load,
    encode_load,
    load_folder,
    load_of_path,
    load_path,
    manifest_path,
)
from dray.keyspace import load_key, load_of_key, loads_range

LOAD, WAL = LoadId(bytes(range(16))), WalId(bytes(range(16, 32)))
_HEX = "000102030405060708090a0b0c0d0e0f"


def test_load_keeps_its_encoding() -> None:
    load = Load(TopicRef("t", bytes(16)), (MetaDomain(3), MetaDomain(7)), LoadState.PUBLISHING, 1, 2, 3)
    expected = f"97a26c3192a174c410{'00' * 16}920307aa7075626c697368696e67010203"
    assert encode_load(load).hex() == expected
    assert decode_load("k", bytes.fromhex(expected)) == load
    assert (load.home, load.is_under_way) == (3, True)


@pytest.mark.parametrize("state", LoadState)
def test_open_and_publishing_loads_are_under_way(state: LoadState) -> None:
    load = Load(TopicRef("t", b""), (MetaDomain(0),), state, 0, 0, 0)
    assert load.is_under_way == (state in ("open", "publishing"))


def test_load_keys_of_a_domain_are_in_its_range() -> None:
    key = load_key(MetaDomain(3), LOAD)
    assert key == f"/dray/v1/wal/loads/3/{_HEX}"
    assert load_of_key(key) == LOAD
    start, end = loads_range(MetaDomain(3))
    assert start < key < end
    assert not start < load_key(MetaDomain(30), LOAD) < end


def test_paths_of_a_load_are_wal_paths_that_name_the_load() -> None:
    path = load_path(LOAD, MetaDomain(3), "2026/01/02", WAL)
    assert path == f"wal/v1/load={_HEX}/domain=3/date=2026/01/02/{WAL.hex()}.wo"
    assert (load_of_path(path), parse_wal_path(path)) == (LOAD, (3, WAL))
    assert path.startswith(load_folder(LOAD, MetaDomain(3)))
    assert manifest_path(LOAD).startswith(load_folder(LOAD))
    assert parse_wal_path(manifest_path(LOAD)) is None


@pytest.mark.parametrize("path", ["wal/v1/zone=a/domain=0/date=1/2/3/x.wo", "wal/v1/load=zz/x", "x"])
def test_load_of_path_of_another_object_is_none(path: str) -> None:
    assert load_of_path(path) is None


def test_corrupt_load_record_raises_corrupt_value_with_the_key() -> None:
    with pytest.raises(CorruptValue, match=r"the/key.*bulk load"):
        decode_load("the/key", b"\xc1")
