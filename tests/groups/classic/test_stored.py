"""The stored form: the bytes of today are understood for ever."""

import msgspec

from dray.groups.classic import ClassicGroup, InitialDelay, Member, Phase, simple

FULL = ClassicGroup(
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
            session=5,
        ),
    },
    pending={"b": 6_000},
    initial=InitialDelay(3_000, 57_000, put_off=True),
    turn=9,
    changed_at_ms=1_700_000_000_000,
)
FULL_BYTES = (
    "9ba26731b2507265706172696e67526562616c616e636503a8636f6e73756d6572a572616e6765a16181a1619da161a169a163a2"
    "2f68cdea60cd27109192a572616e6765c4017201c40141c3c3c30581a162cd177093cd0bb8cddea8c309cf0000018bcfe56800"
)
GOLDEN = [(FULL, FULL_BYTES), (simple(0), "9ba26731a5456d70747900c0c0c08080c00000")]


def test_the_bytes_stay_the_same() -> None:
    for group, golden in GOLDEN:
        assert msgspec.msgpack.encode(group).hex() == golden


def test_golden_bytes_are_understood() -> None:
    for group, golden in GOLDEN:
        assert msgspec.msgpack.decode(bytes.fromhex(golden), type=ClassicGroup) == group
