"""Frames come out as they went in, however the bytes were cut on the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.net.frames import Claim, FrameCutter, FrameTooLarge

_SCRATCH = 64
_MANY = 1_000


def _granted(_: int) -> bool:
    return True


def _cutter(limit: int = 1_000, claim: Claim = _granted) -> FrameCutter:
    return FrameCutter(memoryview(bytearray(_SCRATCH)), limit, claim)


def _feed(cutter: FrameCutter, data: bytes, cuts: list[int], most: int = _SCRATCH) -> list[bytes]:
    """Hand over `data` in pieces as large as `cuts` say, as far as there is room."""
    frames: list[bytes] = []
    pieces = iter(cuts)
    while data:
        room = cutter.room(most)
        count = min(len(room), len(data), next(pieces, len(data)))
        room[:count] = data[:count]
        frames += map(bytes, cutter.received(count, _MANY))
        data = data[count:]
    return frames


def _framed(frames: list[bytes]) -> bytes:
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


@given(st.lists(st.binary(max_size=200), max_size=12), st.lists(st.integers(1, 90), max_size=60))
def test_frames_survive_any_cutting(frames: list[bytes], cuts: list[int]) -> None:
    cutter = _cutter()
    assert _feed(cutter, _framed(frames), cuts) == frames
    assert cutter.held == 0


@given(st.binary(min_size=1, max_size=150), st.data())
def test_half_a_frame_is_kept(frame: bytes, data: st.DataObject) -> None:
    whole = _framed([frame])
    come = data.draw(st.integers(1, len(whole) - 1))
    cutter = _cutter()
    assert _feed(cutter, whole[:come], []) == []
    assert cutter.held >= come if come < 4 else cutter.held >= come - 4


def test_two_connections_share_the_scratch_buffer() -> None:
    scratch = memoryview(bytearray(_SCRATCH))
    one, other = FrameCutter(scratch, 1_000, _granted), FrameCutter(scratch, 1_000, _granted)
    first, second = _framed([b"a" * 30, b"b" * 10]), _framed([b"c" * 100])
    assert _feed(one, first[:36], []) == [b"a" * 30]
    assert _feed(other, second[:20], []) == []
    assert _feed(one, first[36:], []) == [b"b" * 10]
    assert _feed(other, second[20:], []) == [b"c" * 100]


def test_frames_do_not_share_memory_with_the_scratch_buffer() -> None:
    cutter = _cutter()
    data = _framed([b"keep"])
    cutter.room(_SCRATCH)[: len(data)] = data
    (frame,) = cutter.received(len(data), _MANY)
    cutter.room(_SCRATCH)[:40] = b"x" * 40
    assert bytes(frame) == b"keep"


@pytest.mark.parametrize("size", [-1, -(2**31), 1_001, 2**31 - 1])
def test_absurd_lengths_are_refused_before_anything_is_allocated(size: int) -> None:
    with pytest.raises(FrameTooLarge, match=str(size)):
        _feed(_cutter(), size.to_bytes(4, "big", signed=True) + b"rest", [])


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(1, 4))
def test_no_more_frames_are_cut_than_were_asked_for(frames: list[bytes], most: int) -> None:
    whole = _framed(frames)
    cutter = FrameCutter(memoryview(bytearray(1_000)), 1_000, _granted)
    cutter.room(len(whole))[: len(whole)] = whole
    cut = [cutter.received(len(whole), most)]
    while cutter.uncut:
        cut.append(cutter.more(most))
    assert [bytes(frame) for some in cut for frame in some] == frames
    assert all(len(some) <= most for some in cut)
    assert cutter.held == 0


class _Purse:
    """Grants claims up to what is in it."""

    def __init__(self) -> None:
        self.size = 0
        self.asked: list[int] = []

    def claim(self, size: int) -> bool:
        self.asked.append(size)
        return size <= self.size


def test_a_frame_is_given_no_buffer_before_that_is_granted() -> None:
    purse = _Purse()
    cutter = _cutter(claim=purse.claim)
    data = _framed([b"x" * 500])
    assert _feed(cutter, data[:30], []) == []
    assert (cutter.wants_more, cutter.in_own_buffer, cutter.held) == (True, False, 30)
    assert not cutter.go_on()
    assert (cutter.wants_more, cutter.held) == (True, 30)
    purse.size = 500
    assert cutter.go_on()
    assert (cutter.wants_more, cutter.in_own_buffer, cutter.held) == (False, True, 500)
    assert _feed(cutter, data[30:], []) == [b"x" * 500]
    assert purse.asked == [500, 500, 500]


def test_a_long_frame_is_given_a_longer_buffer_only_as_that_is_granted() -> None:
    """Four times what has come, so that naming a length takes no memory."""
    purse, mebi, size = _Purse(), 1 << 20, 7 << 20
    purse.size = mebi
    cutter = FrameCutter(memoryview(bytearray(mebi)), 100 * mebi, purse.claim)
    data = _framed([bytes(range(256)) * (size // 256)])
    assert _feed(cutter, data[: mebi // 4], [], mebi) == []
    assert (cutter.wants_more, cutter.held) == (False, mebi)
    assert _feed(cutter, data[mebi // 4 : mebi + 4], []) == []
    assert (cutter.wants_more, cutter.held) == (True, mebi)
    purse.size = size
    assert cutter.go_on()
    assert cutter.held == 4 * mebi
    assert _feed(cutter, data[mebi + 4 :], []) == [data[4:]]
    assert purse.asked == [mebi, 4 * mebi, 4 * mebi, size]


@pytest.mark.parametrize("come", [4, 5, 1000, 1028, 5000, 20_000])
def test_half_a_frame_takes_no_more_than_four_times_what_has_come(come: int) -> None:
    """Whatever length it has announced, and however it came."""
    whole = _framed([bytes(1 << 20)])
    for cuts in ([], [4], [1] * come):
        cutter = FrameCutter(memoryview(bytearray(1 << 18)), 1 << 20, _granted)
        assert _feed(cutter, whole[:come], cuts) == []
        assert cutter.held <= max(4096, 4 * come)
        assert _feed(cutter, whole[come:], []) == [bytes(1 << 20)]


def test_a_frame_that_comes_fast_is_copied_out_of_the_scratch_buffer_and_never_again() -> None:
    purse, size = _Purse(), 1 << 20
    purse.size = size
    cutter = FrameCutter(memoryview(bytearray(1 << 18)), size, purse.claim)
    assert _feed(cutter, _framed([bytes(size)]), [], 1 << 18) == [bytes(size)]
    assert purse.asked == [size]


def test_what_is_dropped_is_held_no_longer() -> None:
    for refused in (True, False):
        cutter = _cutter(claim=lambda _, refused=refused: not refused)  # type: ignore[misc]
        _feed(cutter, _framed([b"x" * 500])[:30], [])
        assert cutter.held
        cutter.drop()
        assert (cutter.held, cutter.wants_more, cutter.uncut) == (0, False, False)
