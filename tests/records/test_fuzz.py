"""Functions on any bytes: a value or a `RecordError`, in bounded memory."""

import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.records import (
    BatchRules,
    Codec,
    RecordError,
    check_payload,
    decode_batch,
    decompress,
    encode_batch,
    iter_batches,
    parse_header,
    validate,
)
from tests.records.builders import NOW_MS, a_batch, with_fields, with_payload
from tests.records.strategies import codecs, record_lists

LIMIT_BYTES = 1024 * 1024
RULES = BatchRules(compacted=True)


def _check(view: memoryview) -> object:
    return check_payload(parse_header(view), view[61:], RULES, NOW_MS)


FUNCTIONS: list[Callable[[memoryview], object]] = [
    parse_header,
    lambda view: validate(view, RULES, NOW_MS),
    lambda view: decode_batch(view, LIMIT_BYTES),
    lambda view: list(iter_batches(view)),
    lambda view: list(iter_batches(view, partial_tail=True)),
    _check,
]


def _error(function: Callable[[memoryview], object], data: bytes | memoryview) -> str | None:
    """Return the message of the `RecordError`, if any; any other error fails the test."""
    try:
        function(memoryview(data))
    except RecordError as error:
        return error.message
    return None


def _all_succeed_or_explain(data: bytes | memoryview) -> bool:
    return "" not in [_error(function, data) for function in FUNCTIONS]


@st.composite
def mutated_batches(draw: st.DrawFn) -> bytes:
    """A valid batch with bytes changed, removed or added; half of the time with a matching CRC."""
    batch = bytearray(encode_batch(draw(record_lists(max_size=3)), codec=draw(codecs)))
    for _ in range(draw(st.integers(1, 4))):
        batch[draw(st.integers(0, len(batch) - 1))] = draw(st.integers(0, 255))
    end = draw(st.integers(0, len(batch))) if draw(st.booleans()) else len(batch)
    corrupted = bytes(batch[:end]) + draw(st.binary(max_size=5))
    if len(corrupted) > 61 and draw(st.booleans()):
        return bytes(with_fields(corrupted, batch_length=len(corrupted) - 12))
    return corrupted


@given(st.binary(max_size=200))
def test_arbitrary_bytes_give_a_value_or_an_error(data: bytes) -> None:
    assert _all_succeed_or_explain(data)


@settings(max_examples=400)
@given(mutated_batches())
def test_mutated_batches_give_a_value_or_an_error(data: bytes) -> None:
    assert _all_succeed_or_explain(data)


@given(st.binary(max_size=80), st.integers(0, 7), st.integers(-5, 2**31 - 1))
def test_valid_headers_with_arbitrary_payloads(payload: bytes, codec: int, count: int) -> None:
    batch = bytes(with_payload(bytes(61), payload))
    assert _all_succeed_or_explain(
        with_fields(batch, magic=2, attributes=codec, record_count=count, last_offset_delta=count - 1)
    )


@given(
    codecs,
    st.sampled_from([b"", b"\x82SNAPPY\x00", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08\x00", b"\x04\x22\x4d\x18"]),
    st.binary(max_size=120),
)
def test_arbitrary_compressed_bytes(codec: Codec, start: bytes, rest: bytes) -> None:
    def function(view: memoryview) -> bool:
        return len(decompress(codec, view, LIMIT_BYTES)) <= LIMIT_BYTES

    assert _error(function, start + rest) != ""


@pytest.mark.parametrize("count", [10**6, 2**31 - 1])
def test_impossible_counts_allocate_nothing(count: int) -> None:
    lying = with_fields(a_batch(1), record_count=count, last_offset_delta=count - 1)
    tracemalloc.start()
    try:
        assert _all_succeed_or_explain(lying)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000
