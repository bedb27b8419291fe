"""Reads from the page cache without a thread, with a simulated kernel where it decides."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dray.objects.local import LocalObjects, page_cache
from dray.objects.local.page_cache import PageCacheReader
from dray.objects.port import ByteRange, NotFound, OutOfRange

A, B = ByteRange(0, 4), ByteRange(4, 4)


class Kernel:
    """Counts reads, and refuses those of an uncached file."""

    def __init__(self) -> None:
        self.cold = False
        self.asked = 0

    def preadv(self, descriptor: int, buffers: Sequence[bytearray], at: int, flags: int) -> int:
        self.asked += 1
        assert flags == 8, "the read must not wait for the disk"
        if self.cold:
            raise BlockingIOError
        return self._read(descriptor, buffers, at)

    _read: Callable[[int, Sequence[bytearray], int], int] = staticmethod(os.preadv)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel()
    monkeypatch.setattr(os, "preadv", kernel.preadv)
    monkeypatch.setattr(page_cache, "_NOWAIT", 8)
    return kernel


@pytest.fixture
def reader(tmp_path: Path) -> PageCacheReader:
    (tmp_path / "x").write_bytes(b"01234567")
    return PageCacheReader(tmp_path)


def test_cached_file_is_read(reader: PageCacheReader, kernel: Kernel) -> None:
    read = reader.read("x", [B, A])
    assert read is not None
    assert [bytes(one) for one in read] == [b"4567", b"0123"]
    assert all(memoryview(one).readonly for one in read)


def test_uncached_or_missing_file_is_left_to_a_thread(
    tmp_path: Path, reader: PageCacheReader, kernel: Kernel
) -> None:
    assert PageCacheReader(tmp_path).read("x", [ByteRange(6, 4)]) is None, "the file ends before that"
    assert PageCacheReader(tmp_path).read("y", [A]) is None
    kernel.cold = True
    assert reader.read("x", [A]) is None


def test_attempts_back_off_after_misses(reader: PageCacheReader, kernel: Kernel) -> None:
    kernel.cold = True
    for _ in range(10_000):
        assert reader.read("x", [A]) is None
    assert 30 < kernel.asked < 60
    kernel.cold = False
    assert any(reader.read("x", [A]) for _ in range(300))
    assert all(reader.read("x", [A]) for _ in range(10)), "one hit resets the backoff"


def test_large_read_is_left_to_a_thread(tmp_path: Path, kernel: Kernel) -> None:
    (tmp_path / "large").write_bytes(bytes(1 << 21))
    assert PageCacheReader(tmp_path).read("large", [ByteRange(0, (1 << 20) + 1)]) is None
    assert kernel.asked == 0


def test_unsupported_system_leaves_all_reads_to_threads(
    reader: PageCacheReader, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_cache, "_NOWAIT", None)
    assert reader.read("x", [A]) is None
    assert kernel.asked == 0


async def test_store_reads_cached_ranges_without_a_thread(
    tmp_path: Path, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await LocalObjects.open(tmp_path)
    await store.put_new("x", [b"01234567"])
    threaded: list[Callable[[], object]] = []
    run = store._threads.run

    async def counted(work: Callable[[], object]) -> object:
        threaded.append(work)
        return await run(work)

    monkeypatch.setattr(store._threads, "run", counted)
    assert [bytes(one) for one in await store.get_ranges("x", [A, B])] == [b"0123", b"4567"]
    assert threaded == []
    with pytest.raises(OutOfRange):
        await store.get_ranges("x", [ByteRange(6, 4)])
    with pytest.raises(NotFound):
        await store.get_ranges("y", [A])
    kernel.cold = True
    assert [bytes(one) for one in await store.get_ranges("x", [A])] == [b"0123"]
    assert len(threaded) == 3
    await store.close()
