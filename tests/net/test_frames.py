"""Frames come out as they went in, however the bytes were cut on the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.net.frames import FrameCutter, FrameTooLarge

_SCRATCH = 64


def _cutter(limit: int = 1_000) -> FrameCutter:
    return FrameCutter(memoryview(bytearray(_SCRATCH)), limit)


def _feed(cutter: FrameCutter, data: bytes, cuts: list[int]) -> list[bytes]:
    """Hand over `data` in pieces as large as `cuts` say, as far as there is room."""
    frames: list[bytes] = []
    pieces = iter(cuts)
    while data:
        room = cutter.room()
        count = min(len(room), len(data), next(pieces, len(data)))
        room[:count] = data[:count]
        frames += [bytes(frame) for frame in cutter.received(count)]
        data = data[count:]
    return frames


def _framed(frames: list[bytes]) -> bytes:
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


@given(st.lists(st.binary(max_size=200), max_size=12), st.lists(st.integers(1, 90), max_size=60))
def test_frames_survive_any_cutting(frames: list[bytes], cuts: list[int]) -> None:
    cutter = _cutter()
    assert _feed(cutter, _framed(frames), cuts) == frames
    assert not cutter.in_frame


@given(st.binary(min_size=1, max_size=150), st.data())
def test_half_a_frame_is_noticed(frame: bytes, data: st.DataObject) -> None:
    whole = _framed([frame])
    come = data.draw(st.integers(1, len(whole) - 1))
    cutter = _cutter()
    assert _feed(cutter, whole[:come], []) == []
    assert cutter.in_frame


def test_two_connections_share_the_scratch_buffer() -> None:
    scratch = memoryview(bytearray(_SCRATCH))
    one, other = FrameCutter(scratch, 1_000), FrameCutter(scratch, 1_000)
    first, second = _framed([b"a" * 30, b"b" * 10]), _framed([b"c" * 100])
    assert _feed(one, first[:36], []) == [b"a" * 30]
    assert _feed(other, second[:20], []) == []
    assert _feed(one, first[36:], []) == [b"b" * 10]
    assert _feed(other, second[20:], []) == [b"c" * 100]


def test_frames_do_not_share_memory_with_the_scratch_buffer() -> None:
    cutter = _cutter()
    data = _framed([b"keep"])
    cutter.room()[: len(data)] = data
    (frame,) = cutter.received(len(data))
    cutter.room()[:40] = b"x" * 40
    assert bytes(frame) == b"keep"


@pytest.mark.parametrize("size", [-1, -(2**31), 1_001, 2**31 - 1])
def test_absurd_lengths_are_refused_before_anything_is_allocated(size: int) -> None:
    with pytest.raises(FrameTooLarge, match=str(size)):
        _feed(_cutter(), size.to_bytes(4, "big", signed=True) + b"rest", [])
