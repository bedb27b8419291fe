"""Hostile bytes: they give a message or a `WireError`, and use memory in proportion to their length."""

import random
import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.wire import (
    APIS,
    BadLength,
    Truncated,
    WireError,
    decode_body,
    decode_request,
    decode_response,
)
from dray.wire.apis.fetch import FETCH, FetchRequest
from dray.wire.apis.metadata import METADATA, MetadataRequest, MetadataResponse
from tests.wire.kio_bridge import Case, small_messages

CUTS_MAX = 60


def decodes(case: Case, data: bytes) -> bool:
    api, version, message, _ = case
    try:
        decode_body(api, message, version, data)
    except WireError as error:
        said = str(error)
    else:
        return True
    assert said.startswith(f"{message.__name__} v{version}: ")
    return False


@pytest.mark.slow
def test_truncated_message_raises_truncated() -> None:
    chance = random.Random(1)
    cut = 0
    for (api, version, message, _), data in small_messages(chance):
        places = (
            range(len(data)) if len(data) <= CUTS_MAX else sorted(chance.sample(range(len(data)), CUTS_MAX))
        )
        for place in places:
            with pytest.raises(WireError) as caught:
                decode_body(api, message, version, data[:place])
            assert isinstance(caught.value, Truncated | BadLength)
            cut += 1
    assert cut > 10_000


def test_flipped_bit_gives_a_message_or_a_wire_error() -> None:
    chance = random.Random(2)
    outcomes = []
    for case, data in small_messages(chance):
        for _ in range(12 if data else 0):
            flipped = bytearray(data)
            flipped[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            outcomes.append(decodes(case, bytes(flipped)))
    assert 1000 < sum(outcomes) < len(outcomes) - 1000


def test_random_bytes_give_a_message_or_a_wire_error() -> None:
    chance = random.Random(3)
    outcomes = []
    for case, _ in small_messages(chance, items_max=0):
        for size in (0, 1, 7, 40, 300):
            outcomes.append(decodes(case, chance.randbytes(size)))
            # Small numbers get further than evenly spread ones.
            outcomes.append(decodes(case, bytes(chance.choices((0, 0, 1, 2, 3, 255), k=size))))
    assert 100 < sum(outcomes) < len(outcomes) - 1000


@given(st.binary(max_size=200))
def test_random_frames_give_a_request_or_a_wire_error(frame: bytes) -> None:
    try:
        outcome = APIS[decode_request(frame)[0].api_key].name
    except WireError as error:
        outcome = str(error)
    assert outcome


@given(st.sampled_from(sorted(APIS)), st.integers(0, 20), st.binary(max_size=100))
def test_random_bytes_after_a_valid_header_give_a_request_or_a_wire_error(
    key: int, version: int, rest: bytes
) -> None:
    frame = struct.pack(">hhih", key, version, 1, -1) + rest
    for decode in (decode_request, lambda frame: decode_response(APIS[key], version, frame)):
        try:
            outcome = repr(decode(frame))
        except WireError as error:
            outcome = str(error)
        assert outcome


@pytest.mark.parametrize("count", [2**31 - 1, 2**20, 5])
def test_count_beyond_the_bytes_is_refused_before_memory_is_allocated(count: int) -> None:
    body = struct.pack(">i", count) + bytes(8)
    decode_body(METADATA, MetadataRequest, 1, bytes(4))  # compiled now, not while memory is counted
    tracemalloc.start()
    with pytest.raises(BadLength, match=r"MetadataRequest v1: .* at byte 4, in topics"):
        decode_body(METADATA, MetadataRequest, 1, body)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 1024


def test_count_of_integers_beyond_the_bytes_is_refused() -> None:
    partition = struct.pack(">ihiiii", 1, 0, 0, 1, 2**28, 0)
    response = struct.pack(">iihh1s", 0, 1, 0, 1, b"t") + partition
    with pytest.raises(BadLength, match=r"in topics\[0\].partitions\[0\].replica_nodes"):
        decode_body(METADATA, MetadataResponse, 0, response)


@pytest.mark.parametrize(
    "length", [b"\xff\xff\xff\xff\x7f", b"\xff\xff\xff\xff\xff\x01", b"\x80\x80\x80\x80\x80\x00"]
)
def test_overlong_integer_is_refused(length: bytes) -> None:
    with pytest.raises(BadLength, match="in topics"):
        decode_body(METADATA, MetadataRequest, 9, length + bytes(20))


def test_string_longer_than_kafka_allows_is_refused() -> None:
    # 32 769 - 1 bytes of rack id, all of them there.
    head = struct.pack(">iiiibiiBB", -1, 0, 0, 0, 0, 0, 0, 1, 1)
    good = head + b"\x80\x80\x02" + b"r" * 32_767 + b"\0"
    assert decode_body(FETCH, FetchRequest, 12, good)[0].rack_id == "r" * 32_767
    with pytest.raises(BadLength, match="in rack_id"):
        decode_body(FETCH, FetchRequest, 12, head + b"\x81\x80\x02" + b"r" * 32_768 + b"\0")
