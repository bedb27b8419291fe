"""Sequence checks against a dumb model of Kafka's rules, and snapshots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.producers import (
    BATCHES_RETAINED,
    Accept,
    CorruptSnapshot,
    Duplicate,
    ProducerBatch,
    ProducerState,
    Reason,
    Reject,
    Verdict,
    accepted,
    check_sequence,
    decode_snapshot,
    encode_snapshot,
    unexpired,
)

_LAST = 2**31 - 1


def _batch(sequence: int, count: int = 1, epoch: int = 0) -> ProducerBatch:
    return ProducerBatch(1, epoch, sequence, count)


def _after(*batches: ProducerBatch) -> ProducerState:
    state: ProducerState | None = None
    for number, batch in enumerate(batches):
        assert isinstance(check_sequence(state, batch), Accept)
        state = accepted(state, batch, base_offset=number * 100, timestamp_ms=number, now_ms=number)
    assert state is not None
    return state


def _reason(verdict: Verdict) -> Reason | None:
    return verdict.reason if isinstance(verdict, Reject) else None


def test_unknown_producer_may_start_anywhere() -> None:
    assert isinstance(check_sequence(None, _batch(1234)), Accept)


def test_unknown_producer_may_not_start_after_a_lost_batch() -> None:
    assert isinstance(check_sequence(None, _batch(3), begins_with=3), Accept)
    assert _reason(check_sequence(None, _batch(4), begins_with=3)) is Reason.OUT_OF_ORDER_SEQUENCE
    assert isinstance(check_sequence(_after(_batch(3)), _batch(4), begins_with=3), Accept)


def test_sequences_continue() -> None:
    state = _after(_batch(0, 5))
    assert isinstance(check_sequence(state, _batch(5)), Accept)
    for sequence in (4, 6, 0):
        assert _reason(check_sequence(state, _batch(sequence))) is Reason.OUT_OF_ORDER_SEQUENCE


def test_sequence_wraps_to_zero() -> None:
    state = _after(_batch(_LAST - 1, 2))
    assert isinstance(check_sequence(state, _batch(0)), Accept)
    across = _after(_batch(_LAST, 3))
    assert across.batches[-1].last_sequence == 1
    assert isinstance(check_sequence(across, _batch(2)), Accept)


def test_last_five_batches_are_known_again_and_older_ones_are_not() -> None:
    state = _after(*(_batch(number) for number in range(BATCHES_RETAINED + 1)))
    for number in range(1, BATCHES_RETAINED + 1):
        assert check_sequence(state, _batch(number)) == Duplicate(
            base_offset=number * 100, timestamp_ms=number
        )
    assert _reason(check_sequence(state, _batch(0))) is Reason.OUT_OF_ORDER_SEQUENCE


def test_batch_of_other_length_is_not_a_duplicate() -> None:
    assert _reason(check_sequence(_after(_batch(0, 2)), _batch(0, 1))) is Reason.OUT_OF_ORDER_SEQUENCE


def test_epochs_only_grow_and_begin_at_zero() -> None:
    state = _after(_batch(0, epoch=3))
    assert _reason(check_sequence(state, _batch(1, epoch=2))) is Reason.STALE_EPOCH
    assert _reason(check_sequence(state, _batch(1, epoch=4))) is Reason.OUT_OF_ORDER_SEQUENCE
    assert isinstance(check_sequence(state, _batch(0, epoch=4)), Accept)
    bumped = accepted(state, _batch(0, epoch=4), base_offset=500, timestamp_ms=1, now_ms=1)
    assert len(bumped.batches) == 1
    assert _reason(check_sequence(bumped, _batch(0, epoch=3))) is Reason.STALE_EPOCH


def test_messages_have_expected_and_actual_sequence() -> None:
    verdict = check_sequence(_after(_batch(0, 5)), _batch(9))
    assert isinstance(verdict, Reject)
    assert "sequence 9" in verdict.message
    assert "5 is next" in verdict.message


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(1, 3)), max_size=40))
def test_accepted_batches_form_one_sequence_per_epoch(
    sent: list[tuple[int, int, int]],
) -> None:
    """The model: per epoch, a list of sequences that were accepted; it must have no gap and no repeat."""
    state: ProducerState | None = None
    taken: list[tuple[int, int]] = []
    for offset, (epoch, sequence, count) in enumerate(sent):
        batch = _batch(sequence, count, epoch)
        verdict = check_sequence(state, batch)
        if isinstance(verdict, Duplicate):
            assert (epoch, sequence) in taken
        if isinstance(verdict, Accept):
            taken.extend((epoch, sequence + more) for more in range(count))
            state = accepted(state, batch, base_offset=offset, timestamp_ms=0, now_ms=0)
    assert taken == sorted(set(taken))
    for epoch in {epoch for epoch, _ in taken}:
        sequences = [sequence for of, sequence in taken if of == epoch]
        assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
    later = {epoch: min(s for e, s in taken if e == epoch) for epoch in sorted({e for e, _ in taken})}
    assert all(first == 0 for first in list(later.values())[1:])


def test_snapshot_round_trips_without_expired_producers() -> None:
    one, other = _after(_batch(0, 2), _batch(2)), ProducerState(9, 1, _after(_batch(0)).batches, 50)
    table = {9: other, 1: one}
    assert decode_snapshot(encode_snapshot(table)) == table
    assert encode_snapshot(table) == encode_snapshot({1: one, 9: other})
    assert unexpired(table, now_ms=60, expiry_ms=20) == {9: other}
    assert unexpired(table, now_ms=60, expiry_ms=1_000) == table


@given(st.binary(max_size=60))
def test_garbage_raises_corrupt_snapshot(garbage: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(b"\xc1" + garbage)
