"""Stored bytes of groups and offsets. The golden bytes must stay readable forever."""

import pytest

from dray.groups.classic import ClassicGroup, InitialDelay, Member, Phase, new_group
from dray.groups.consumer import (
    ClassicMemberMetadata,
    ConsumerGroup,
    ConsumerMember,
    MemberState,
    TopicMetadata,
)
from dray.groups.stored import CorruptGroup, Group, decode_group, decode_offset, encode_group, encode_offset
from dray.groups.types import CommittedOffset

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
            state=MemberState.UNREVOKED_PARTITIONS,
            assigned={ID: {0: 2}},
            revoking={ID: {1: 1}},
            revoking_since=3,
            classic=ClassicMemberMetadata(10_000, (("range", b"m"),), 4, must_sync=True, must_join=True),
        )
    },
    targets={"a": {ID: (0,)}},
    topics={"t": TopicMetadata(ID, 2)},
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
CLASSIC = ClassicGroup(
    phase=Phase.PREPARING,
    generation=3,
    protocol_type="consumer",
    protocol="range",
    leader="a",
    members={
        "a": Member(
            member_id="a",
            instance_id="i",
            client_id="c",
            client_host="/h",
            rebalance_timeout_ms=60_000,
            session_timeout_ms=10_000,
            protocols=(("range", b"r"),),
            broker=1,
            assignment=b"A",
            joining=True,
            synced=True,
            is_new=True,
            session_epoch=5,
        ),
    },
    pending_members={"b": 6_000},
    initial_delay=InitialDelay(3_000, 57_000, member_added=True),
    phase_epoch=9,
    changed_at_ms=1_700_000_000_000,
)
CLASSIC_BYTES = bytes.fromhex(
    "9ba26731b2507265706172696e67526562616c616e636503a8636f6e73756d6572a572616e6765a16181a1619da161a169a163a2"
    "2f68cdea60cd27109192a572616e6765c4017201c40141c3c3c30581a162cd177093cd0bb8cddea8c309cf0000018bcfe56800"
)
EMPTY_BYTES = bytes.fromhex("9ba26731a5456d70747900c0c0c08080c00000")
OFFSET = CommittedOffset(42, 7, "note", 1_000, None, ID)
OFFSET_BYTES = bytes.fromhex("97a26f312a07a46e6f7465cd03e8c0c410000102030405060708090a0b0c0d0e0f")


GOLDEN = [(CONSUMERS, CONSUMERS_BYTES), (CLASSIC, CLASSIC_BYTES), (new_group(0), EMPTY_BYTES)]


@pytest.mark.parametrize(("group", "golden"), GOLDEN)
def test_golden_bytes_of_groups_stay_the_same(group: Group, golden: bytes) -> None:
    assert encode_group(group) == golden
    assert decode_group(golden) == group


def test_golden_bytes_of_offsets_stay_the_same() -> None:
    assert encode_offset(OFFSET) == OFFSET_BYTES
    assert decode_offset(OFFSET_BYTES) == OFFSET


@pytest.mark.parametrize("value", [b"", b"\x00", b"\x92\xa2xx\x01", encode_offset(OFFSET)])
def test_decoding_anything_else_as_a_group_raises_corrupt_group(value: bytes) -> None:
    with pytest.raises(CorruptGroup):
        decode_group(value)


def test_decoding_anything_else_as_an_offset_raises_corrupt_group() -> None:
    with pytest.raises(CorruptGroup):
        decode_offset(encode_group(CONSUMERS))
