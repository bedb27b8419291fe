"""Rates and token buckets over sequences of values: against a model, and as properties."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.quotas import RateWindow, TokenBucket
from dray.quotas.rates import FULL_WINDOWS, WINDOW_MS, WINDOWS

EVENTS = st.lists(
    st.tuples(st.integers(0, 30_000) | st.integers(0, 300), st.integers(0, 10_000)), min_size=1, max_size=60
)


def timed(events: list[tuple[int, int]], start_ms: int = 5_000_000) -> list[tuple[int, int]]:
    """Return (time, value) of events that are given by the pauses before them."""
    found = []
    for pause, value in events:
        start_ms += pause
        found.append((start_ms, value))
    return found


class NaiveRate:
    """The same, from all events there ever were: every question groups them into samples again."""

    def __init__(self) -> None:
        self.happened: list[tuple[int, int | None]] = []

    def record(self, value: int, now_ms: int) -> None:
        self.happened.append((now_ms, value))

    def rate(self, now_ms: int) -> float:
        self.happened.append((now_ms, None))
        places: list[list[int]] = []  # opened at, last value at, sum
        current = 0
        for time_ms, value in self.happened:
            if value is None:
                expired = [place for place in places if time_ms - place[1] >= WINDOWS * WINDOW_MS]
                for place in expired:
                    place[:] = [time_ms, time_ms, 0]
                continue
            if places and time_ms - places[current][0] >= WINDOW_MS:
                current = (current + 1) % (WINDOWS + 1)
                places[current : current + 1] = [[time_ms, time_ms, 0]]
            places = places or [[time_ms, time_ms, 0]]
            places[current][1:] = [time_ms, places[current][2] + value]
        elapsed = now_ms - min(place[0] for place in places)
        while elapsed < FULL_WINDOWS * WINDOW_MS:
            elapsed += WINDOW_MS
        return sum(place[2] for place in places) * 1000 / max(elapsed, 1)


@given(EVENTS, st.sets(st.integers(0, 59)))
def test_rate_is_that_of_the_model(events: list[tuple[int, int]], asked: set[int]) -> None:
    window, model = RateWindow(), NaiveRate()
    for number, (now_ms, value) in enumerate(timed(events)):
        window.record(value, now_ms)
        model.record(value, now_ms)
        if number in asked:
            assert window.rate(now_ms) == pytest.approx(model.rate(now_ms))
    assert window.rate(now_ms) == pytest.approx(model.rate(now_ms))


@given(EVENTS)
def test_recent_values_count_and_old_ones_do_not(events: list[tuple[int, int]]) -> None:
    window, happened = RateWindow(), timed(events)
    for now_ms, value in happened:
        window.record(value, now_ms)
        window.rate(now_ms)
    recent = sum(value for time_ms, value in happened if now_ms - time_ms < FULL_WINDOWS * WINDOW_MS)
    lately = sum(value for time_ms, value in happened if now_ms - time_ms <= (WINDOWS + 2) * WINDOW_MS)
    rate = window.rate(now_ms)
    assert recent / (WINDOWS + 2) <= rate <= lately / (FULL_WINDOWS - 1)


@given(EVENTS, st.integers(1, 10_000))
def test_pause_of_the_throttle_time_brings_the_rate_within_the_limit(
    events: list[tuple[int, int]], limit: int
) -> None:
    window = RateWindow()
    for now_ms, value in timed(events):
        window.record(value, now_ms)
    throttle_ms = window.throttle_ms(limit, now_ms)
    assert (throttle_ms > 0) == (window.rate(now_ms) > limit * 1.0005) or throttle_ms <= 10
    # Within the window nothing is forgotten in a pause, so the sum is spread over so much more time.
    total = window.rate(now_ms) * window._window_ms(now_ms) / 1000
    assert total * 1000 / (window._window_ms(now_ms) + throttle_ms + 1) <= limit * 1.001


@settings(max_examples=300)
@given(EVENTS, st.lists(st.integers(1, 3_000), min_size=60, max_size=60))
def test_throttle_time_is_the_same_without_the_shortcut_for_low_rates(
    events: list[tuple[int, int]], limits: list[int]
) -> None:
    window, slow = RateWindow(), RateWindow()
    for (now_ms, value), limit in zip(timed(events), limits, strict=False):
        window.record(value, now_ms)
        slow.record(value, now_ms)
        slow._at_most = math.inf
        assert window.throttle_ms(limit, now_ms) == slow.throttle_ms(limit, now_ms)


def test_value_that_is_taken_back_does_not_count() -> None:
    window = RateWindow()
    window.record(5_000, 0)
    window.record(50_000, 100)
    window.record(-50_000, 100)
    assert window.rate(100) == 5_000 * 1000 / 10_100
    assert window.throttle_ms(500, 100) == 0


def test_first_value_may_be_ten_times_the_limit() -> None:
    window = RateWindow()
    window.record(10_000, 77)
    assert window.throttle_ms(1_000, 77) == 0
    window.record(1_000, 77)
    assert window.throttle_ms(1_000, 77) == 1_000


def test_window_is_empty_when_its_last_value_is_eleven_seconds_old() -> None:
    window = RateWindow()
    assert window.is_empty(0)
    window.record(1, 0)
    assert not window.is_empty(10_999)
    assert window.is_empty(11_000)
    assert window.rate(11_000) == 0


@given(st.floats(0.1, 100), st.lists(st.tuples(st.integers(0, 20_000), st.floats(0, 500)), min_size=1))
def test_tokens_are_those_of_a_bucket_that_is_refilled_every_millisecond(
    limit: float, events: list[tuple[int, float]]
) -> None:
    bucket, most = TokenBucket(), limit * 11
    level = most
    now_ms = 1_000
    for pause, tokens in events:
        now_ms += pause
        level = min(most, level + limit * pause / 1000)  # as many steps as milliseconds come to the same
        assert bucket.tokens(limit, now_ms) == pytest.approx(level)
        bucket.spend(tokens, limit, now_ms)
        level -= tokens
        assert bucket.tokens(limit, now_ms) == pytest.approx(level, abs=1e-6)
    wait_ms = bucket.throttle_ms(limit, now_ms)
    assert wait_ms == pytest.approx(max(-level, 0) / limit * 1000, abs=1)
    assert bucket.tokens(limit, now_ms + wait_ms + 1) >= 0


def test_bucket_is_full_again_when_what_was_spent_is_refilled() -> None:
    bucket = TokenBucket()
    bucket.spend(22, 1.0, 0)
    assert bucket.throttle_ms(1.0, 0) == 11_000
    assert not bucket.is_full(21_999)
    assert bucket.is_full(22_000)
