"""Last offset of each key, compared with a dictionary, and the hash, compared with published values."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.records.columns import DamagedKeys, LastOffsets

SEED = bytes(range(16))
_WORD = 2**64 - 1


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _WORD


class _SipHash:
    """SipHash-2-4 with 128 bits, after its paper."""

    def __init__(self, seed: bytes) -> None:
        low, high = int.from_bytes(seed[:8], "little"), int.from_bytes(seed[8:], "little")
        self.v = [
            low ^ 0x736F6D6570736575,
            high ^ 0x646F72616E646F6D ^ 0xEE,
            low ^ 0x6C7967656E657261,
            high ^ 0x7465646279746573,
        ]

    def rounds(self, count: int) -> None:
        v0, v1, v2, v3 = self.v
        for _ in range(count):
            v0 = (v0 + v1) & _WORD
            v1 = _turned(v1, 13) ^ v0
            v0 = _turned(v0, 32)
            v2 = (v2 + v3) & _WORD
            v3 = _turned(v3, 16) ^ v2
            v0 = (v0 + v3) & _WORD
            v3 = _turned(v3, 21) ^ v0
            v2 = (v2 + v1) & _WORD
            v1 = _turned(v1, 17) ^ v2
            v2 = _turned(v2, 32)
        self.v = [v0, v1, v2, v3]

    def of(self, data: bytes) -> bytes:
        padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
        for at in range(0, len(padded), 8):
            word = int.from_bytes(padded[at : at + 8], "little")
            self.v[3] ^= word
            self.rounds(2)
            self.v[0] ^= word
        self.v[2] ^= 0xEE
        self.rounds(4)
        first = self.v[0] ^ self.v[1] ^ self.v[2] ^ self.v[3]
        self.v[1] ^= 0xDD
        self.rounds(4)
        second = self.v[0] ^ self.v[1] ^ self.v[2] ^ self.v[3]
        return first.to_bytes(8, "little") + second.to_bytes(8, "little")


def _hashes(*keys: bytes) -> list[bytes]:
    return [row.tobytes() for row in LastOffsets(SEED, 1)._hash(pa.array(keys, pa.binary()))]


def test_hash_is_siphash() -> None:
    """The first two test vectors of its authors."""
    assert [one.hex() for one in _hashes(b"", b"\0")] == [
        "a3817f04ba25a8e66df67214c7550293",
        "da87c1d86b99af44347659119b22fc45",
    ]


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_hash_equals_the_reference_implementation(keys: list[bytes]) -> None:
    assert _hashes(*keys) == [_SipHash(SEED).of(key) for key in keys]


_KEYS = st.lists(st.one_of(st.none(), st.binary(max_size=2)), max_size=40)


@given(st.lists(_KEYS, max_size=4), _KEYS, st.booleans())
def test_last_offset_of_each_key_is_found(
    given_: list[list[bytes | None]], asked: list[bytes | None], stored: bool
) -> None:
    model: dict[bytes, int] = {}
    found = LastOffsets(SEED, sum(map(len, given_)))
    offset = 5
    for keys in given_:
        found.put(
            pa.array([b"sliced off", *keys], pa.binary()).slice(1), np.arange(offset, offset + len(keys))
        )
        model |= {key: offset + at for at, key in enumerate(keys) if key is not None}
        offset += len(keys)
    if stored:
        found = LastOffsets.decoded(b"".join(found.encoded()))
    assert len(found) == len(model)
    present = [key for key in asked if key is not None]
    assert found.find(pa.array(present, pa.binary())).tolist() == [model.get(key, -1) for key in present]


def test_hash_depends_on_the_seed() -> None:
    keys = pa.array([b"a", b"b"], pa.binary())
    other = LastOffsets(bytes(16), 1)._hash(keys)
    assert (other != LastOffsets(SEED, 1)._hash(keys)).all()


def test_corrupt_bytes_are_rejected() -> None:
    made = LastOffsets(SEED, 3)
    made.put(pa.array([b"a", b"b", b"a"], pa.binary()), np.arange(3))
    valid = b"".join(made.encoded())
    assert LastOffsets.decoded(valid).find(pa.array([b"a"], pa.binary())).tolist() == [2]
    for at in range(len(valid)):
        bad = bytearray(valid)
        bad[at] ^= 1
        with pytest.raises(DamagedKeys):
            LastOffsets.decoded(bytes(bad))
    for size in (0, 10, len(valid) - 1):
        with pytest.raises(DamagedKeys):
            LastOffsets.decoded(valid[:size])
