"""Runs of batches are cut at batch boundaries only."""

import pytest

from dray.records import CorruptBatch, iter_batches
from tests.records.builders import a_batch, with_fields

BATCHES = [a_batch(1), a_batch(4), a_batch(2)]
RUN = memoryview(b"".join(BATCHES))
ENDS = [len(BATCHES[0]), len(BATCHES[0]) + len(BATCHES[1]), len(RUN)]


def test_batches_come_out_whole_and_in_order() -> None:
    found = list(iter_batches(RUN))
    assert [bytes(batch) for _, batch in found] == BATCHES
    assert [header.record_count for header, _ in found] == [1, 4, 2]


def test_batches_are_views() -> None:
    (_, batch), *_ = iter_batches(RUN)
    assert batch.obj is RUN.obj


def test_a_batch_that_compaction_emptied_is_only_a_header() -> None:
    empty = bytes(with_fields(BATCHES[0][:61], batch_length=61 - 12, record_count=0))
    for partial_tail in (False, True):
        found = [bytes(batch) for _, batch in iter_batches(memoryview(empty * 2), partial_tail=partial_tail)]
        assert found == [empty, empty]


def test_a_whole_last_batch_is_no_partial_tail() -> None:
    assert list(iter_batches(RUN, partial_tail=True)) == list(iter_batches(RUN))


def test_nothing_gives_nothing() -> None:
    assert list(iter_batches(memoryview(b""))) == []


@pytest.mark.parametrize("cut", [1, 20, 61, len(BATCHES[2]) - 1])
def test_a_partial_tail_is_corrupt_unless_allowed(cut: int) -> None:
    torn = RUN[: ENDS[1] + cut]
    with pytest.raises(CorruptBatch):
        list(iter_batches(torn))
    assert [bytes(batch) for _, batch in iter_batches(torn, partial_tail=True)] == BATCHES[:2]


@pytest.mark.parametrize("length", [-1, 0, 48, 10_000, 2**31 - 1, -(2**31)])
def test_lying_lengths_are_corrupt(length: int) -> None:
    lying = with_fields(BATCHES[0], batch_length=length)
    with pytest.raises(CorruptBatch):
        list(iter_batches(lying))
