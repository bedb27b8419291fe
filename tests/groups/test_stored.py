"""Groups and offsets as bytes. The golden ones are what is stored already: they must be readable for ever."""

import pytest

from dray.groups.classic import simple
from dray.groups.consumer import ClassicSide, ConsumerGroup, ConsumerMember, Progress, Topic
from dray.groups.stored import (
    CommittedOffset,
    CorruptGroup,
    decode_group,
    decode_offset,
    encode_group,
    encode_offset,
)

ID = bytes(range(16))
CONSUMERS = ConsumerGroup(
    epoch=3,
    target_epoch=2,
    members={
        "a": ConsumerMember(
            client_id="c",
            client_host="/h",
            broker=1,
            instance_id="i",
            rack_id="r",
            rebalance_timeout_ms=60_000,
            names=("t",),
            regex="t.*",
            assignor="range",
            epoch=2,
            previous_epoch=1,
            progress=Progress.UNREVOKED,
            assigned={ID: {0: 2}},
            revoking={ID: {1: 1}},
            revoking_since=3,
            classic=ClassicSide(10_000, (("range", b"m"),), 4, must_sync=True, must_join=True),
        )
    },
    targets={"a": {ID: (0,)}},
    topics={"t": Topic(ID, 2)},
    regexes={"t.*": ("t",)},
    assignor="uniform",
    assigned_at_ms=5,
    changed_at_ms=6,
)
CONSUMERS_BYTES = bytes.fromhex(
    "9aa26331030281a161dc0010a163a22f6801a169a172cdea6091a174a3742e2aa572616e676502010181c41000010203"
    "0405060708090a0b0c0d0e0f81000281c410000102030405060708090a0b0c0d0e0f8101010395cd27109192a572616e"
    "6765c4016d04c3c381a16181c410000102030405060708090a0b0c0d0e0f910081a17492c41000010203040506070809"
    "0a0b0c0d0e0f0281a3742e2a91a174a7756e69666f726d0506"
)
OFFSET = CommittedOffset(42, 7, "note", 1_000, None, ID)
OFFSET_BYTES = bytes.fromhex("97a26f312a07a46e6f7465cd03e8c0c410000102030405060708090a0b0c0d0e0f")


def test_a_group_of_the_consumer_protocol_comes_back() -> None:
    assert decode_group(encode_group(CONSUMERS)) == CONSUMERS


def test_a_group_of_the_classic_protocol_comes_back() -> None:
    assert decode_group(encode_group(simple(7))) == simple(7)


def test_stored_groups_stay_readable() -> None:
    assert decode_group(CONSUMERS_BYTES) == CONSUMERS
    assert encode_group(CONSUMERS) == CONSUMERS_BYTES


def test_offsets_come_back() -> None:
    assert decode_offset(encode_offset(OFFSET)) == OFFSET
    assert encode_offset(OFFSET) == OFFSET_BYTES


@pytest.mark.parametrize("value", [b"", b"\x00", b"\x92\xa2xx\x01", encode_offset(OFFSET)])
def test_what_is_no_group(value: bytes) -> None:
    with pytest.raises(CorruptGroup):
        decode_group(value)


def test_what_is_no_offset() -> None:
    with pytest.raises(CorruptGroup):
        decode_offset(encode_group(CONSUMERS))
