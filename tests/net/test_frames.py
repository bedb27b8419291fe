"""Decoding of frames, however their bytes were split on the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.net.frames import Claim, FrameDecoder, FrameTooLarge

_SCRATCH = 64
_MANY = 1_000


def _granted(_: int) -> bool:
    return True


def _decoder(limit: int = 1_000, claim: Claim = _granted) -> FrameDecoder:
    return FrameDecoder(memoryview(bytearray(_SCRATCH)), limit, claim)


def _feed(decoder: FrameDecoder, data: bytes, cuts: list[int], most: int = _SCRATCH) -> list[bytes]:
    """Feed `data` in pieces of the sizes in `cuts`, as far as the buffer takes them."""
    frames: list[bytes] = []
    pieces = iter(cuts)
    while data:
        buffer = decoder.buffer(most)
        count = min(len(buffer), len(data), next(pieces, len(data)))
        buffer[:count] = data[:count]
        frames += map(bytes, decoder.received(count, _MANY))
        data = data[count:]
    return frames


def _framed(frames: list[bytes]) -> bytes:
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


@given(st.lists(st.binary(max_size=200), max_size=12), st.lists(st.integers(1, 90), max_size=60))
def test_frames_are_decoded_however_they_are_split(frames: list[bytes], cuts: list[int]) -> None:
    decoder = _decoder()
    assert _feed(decoder, _framed(frames), cuts) == frames
    assert decoder.buffered_bytes == 0


@given(st.binary(min_size=1, max_size=150), st.data())
def test_partial_frame_is_kept(frame: bytes, data: st.DataObject) -> None:
    whole = _framed([frame])
    received = data.draw(st.integers(1, len(whole) - 1))
    decoder = _decoder()
    assert _feed(decoder, whole[:received], []) == []
    assert decoder.buffered_bytes >= received if received < 4 else decoder.buffered_bytes >= received - 4


def test_two_connections_share_the_scratch_buffer() -> None:
    scratch = memoryview(bytearray(_SCRATCH))
    one, other = FrameDecoder(scratch, 1_000, _granted), FrameDecoder(scratch, 1_000, _granted)
    first, second = _framed([b"a" * 30, b"b" * 10]), _framed([b"c" * 100])
    assert _feed(one, first[:36], []) == [b"a" * 30]
    assert _feed(other, second[:20], []) == []
    assert _feed(one, first[36:], []) == [b"b" * 10]
    assert _feed(other, second[20:], []) == [b"c" * 100]


def test_frames_do_not_share_memory_with_the_scratch_buffer() -> None:
    decoder = _decoder()
    data = _framed([b"keep"])
    decoder.buffer(_SCRATCH)[: len(data)] = data
    (frame,) = decoder.received(len(data), _MANY)
    decoder.buffer(_SCRATCH)[:40] = b"x" * 40
    assert bytes(frame) == b"keep"


@pytest.mark.parametrize("size", [-1, -(2**31), 1_001, 2**31 - 1])
def test_invalid_lengths_are_refused_before_memory_is_allocated(size: int) -> None:
    with pytest.raises(FrameTooLarge, match=str(size)):
        _feed(_decoder(), size.to_bytes(4, "big", signed=True) + b"rest", [])


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(1, 4))
def test_no_more_frames_are_decoded_than_asked_for(frames: list[bytes], most: int) -> None:
    whole = _framed(frames)
    decoder = FrameDecoder(memoryview(bytearray(1_000)), 1_000, _granted)
    decoder.buffer(len(whole))[: len(whole)] = whole
    cut = [decoder.received(len(whole), most)]
    while decoder.has_more:
        cut.append(decoder.decode_more(most))
    assert [bytes(frame) for some in cut for frame in some] == frames
    assert all(len(some) <= most for some in cut)
    assert decoder.buffered_bytes == 0


class _Memory:
    """Grants claims up to a size."""

    def __init__(self) -> None:
        self.size = 0
        self.requested: list[int] = []

    def claim(self, size: int) -> bool:
        self.requested.append(size)
        return size <= self.size


def test_partial_frame_gets_its_buffer_when_its_claim_is_granted() -> None:
    memory = _Memory()
    decoder = _decoder(claim=memory.claim)
    data = _framed([b"x" * 500])
    assert _feed(decoder, data[:30], []) == []
    assert (decoder.needs_memory, decoder.has_own_buffer, decoder.buffered_bytes) == (True, False, 30)
    assert not decoder.grow()
    assert (decoder.needs_memory, decoder.buffered_bytes) == (True, 30)
    memory.size = 500
    assert decoder.grow()
    assert (decoder.needs_memory, decoder.has_own_buffer, decoder.buffered_bytes) == (False, True, 500)
    assert _feed(decoder, data[30:], []) == [b"x" * 500]
    assert memory.requested == [500, 500, 500]


def test_buffer_of_a_large_frame_grows_when_its_claim_is_granted() -> None:
    """By a factor of four, so that announcing a length allocates nothing."""
    memory, mebi, size = _Memory(), 1 << 20, 7 << 20
    memory.size = mebi
    decoder = FrameDecoder(memoryview(bytearray(mebi)), 100 * mebi, memory.claim)
    data = _framed([bytes(range(256)) * (size // 256)])
    assert _feed(decoder, data[: mebi // 4], [], mebi) == []
    assert (decoder.needs_memory, decoder.buffered_bytes) == (False, mebi)
    assert _feed(decoder, data[mebi // 4 : mebi + 4], []) == []
    assert (decoder.needs_memory, decoder.buffered_bytes) == (True, mebi)
    memory.size = size
    assert decoder.grow()
    assert decoder.buffered_bytes == 4 * mebi
    assert _feed(decoder, data[mebi + 4 :], []) == [data[4:]]
    assert memory.requested == [mebi, 4 * mebi, 4 * mebi, size]


@pytest.mark.parametrize("received", [4, 5, 1000, 1028, 5000, 20_000])
def test_partial_frame_uses_at_most_four_times_what_was_received(received: int) -> None:
    """Whatever length was announced, and however the bytes were split."""
    whole = _framed([bytes(1 << 20)])
    for cuts in ([], [4], [1] * received):
        decoder = FrameDecoder(memoryview(bytearray(1 << 18)), 1 << 20, _granted)
        assert _feed(decoder, whole[:received], cuts) == []
        assert decoder.buffered_bytes <= max(4096, 4 * received)
        assert _feed(decoder, whole[received:], []) == [bytes(1 << 20)]


def test_frame_that_is_sent_fast_is_copied_only_out_of_the_scratch_buffer() -> None:
    memory, size = _Memory(), 1 << 20
    memory.size = size
    decoder = FrameDecoder(memoryview(bytearray(1 << 18)), size, memory.claim)
    assert _feed(decoder, _framed([bytes(size)]), [], 1 << 18) == [bytes(size)]
    assert memory.requested == [size]


def test_clear_releases_all_memory() -> None:
    for refused in (True, False):
        decoder = _decoder(claim=lambda _, refused=refused: not refused)  # type: ignore[misc]
        _feed(decoder, _framed([b"x" * 500])[:30], [])
        assert decoder.buffered_bytes
        decoder.clear()
        assert (decoder.buffered_bytes, decoder.needs_memory, decoder.has_more) == (0, False, False)
