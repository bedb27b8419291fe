"""What is stored of bulk loads keeps its bytes for ever."""

import pytest

from dray.ids import MetaDomain, TopicRef, WalId
from dray.index import CorruptValue, parse_wal_path
from dray.index.loads import (
    Load,
    LoadId,
    LoadState,
    decode_load,
    encode_load,
    load_folder,
    load_key,
    load_of_key,
    load_of_path,
    load_path,
    loads_range,
    manifest_path,
)

LOAD, WAL = LoadId(bytes(range(16))), WalId(bytes(range(16, 32)))
_HEX = "000102030405060708090a0b0c0d0e0f"


def test_a_load() -> None:
    load = Load(TopicRef("t", bytes(16)), (MetaDomain(3), MetaDomain(7)), LoadState.PUBLISHING, 1, 2, 3)
    expected = f"97a26c3192a174c410{'00' * 16}920307aa7075626c697368696e67010203"
    assert encode_load(load).hex() == expected
    assert decode_load("k", bytes.fromhex(expected)) == load
    assert (load.home, load.is_under_way) == (3, True)


@pytest.mark.parametrize("state", LoadState)
def test_which_may_still_become_visible(state: LoadState) -> None:
    load = Load(TopicRef("t", b""), (MetaDomain(0),), state, 0, 0, 0)
    assert load.is_under_way == (state in ("open", "publishing"))


def test_keys() -> None:
    key = load_key(MetaDomain(3), LOAD)
    assert key == f"/dray/v1/wal/loads/3/{_HEX}"
    assert load_of_key(key) == LOAD
    start, end = loads_range(MetaDomain(3))
    assert start < key < end
    assert not start < load_key(MetaDomain(30), LOAD) < end


def test_paths_tell_the_load_and_are_those_of_wal_objects() -> None:
    path = load_path(LOAD, MetaDomain(3), "2026/01/02", WAL)
    assert path == f"wal/v1/load={_HEX}/domain=3/date=2026/01/02/{WAL.hex()}.wo"
    assert (load_of_path(path), parse_wal_path(path)) == (LOAD, (3, WAL))
    assert path.startswith(load_folder(LOAD, MetaDomain(3)))
    assert manifest_path(LOAD).startswith(load_folder(LOAD))
    assert parse_wal_path(manifest_path(LOAD)) is None


@pytest.mark.parametrize("path", ["wal/v1/zone=a/domain=0/date=1/2/3/x.wo", "wal/v1/load=zz/x", "x"])
def test_other_paths_are_of_no_load(path: str) -> None:
    assert load_of_path(path) is None


def test_a_damaged_record_is_told_with_its_key() -> None:
    with pytest.raises(CorruptValue, match=r"the/key.*bulk load"):
        decode_load("the/key", b"\xc1")
