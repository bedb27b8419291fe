"""A pattern made to be slow holds nobody up, and is refused if it takes too long."""

from dataclasses import replace

import pytest

from dray.coordinators import matching_ahead
from dray.coordinators.matching_ahead import TooSlow, match_ahead
from dray.groups.consumer import patterns
from dray.groups.faults import Fault
from dray.runtime import SystemClock
from tests.coordinators.builders import GROUP, Rig, consumer_ask, play

NAMES = [f"t{number}" for number in range(40)]


class Slow(SystemClock):
    """A clock by which each match takes some time; who sleeps is counted."""

    def __init__(self, match_s: float) -> None:
        self.now_s = 0.0
        self.match_s = match_s
        self.sleeps: list[float] = []

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)

    def book_of(self, pattern: str) -> patterns.Book:
        clock, book = self, patterns.Book(pattern)

        class Laborious(patterns.Book):
            def matches(self, name: str) -> bool:
                clock.now_s += clock.match_s
                return book.matches(name)

        return Laborious(pattern)


def slow(monkeypatch: pytest.MonkeyPatch, match_s: float) -> Slow:
    clock = Slow(match_s)
    monkeypatch.setattr(matching_ahead, "book_of", clock.book_of)
    return clock


async def test_others_have_their_turn_between_slow_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = slow(monkeypatch, 0.011)
    await match_ahead("t.*", NAMES, clock)
    assert clock.sleeps == [0] * len(NAMES)


async def test_quick_matches_are_made_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = slow(monkeypatch, 3e-6)
    await match_ahead("t.*", NAMES, clock)
    assert clock.sleeps == []


async def test_what_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = slow(monkeypatch, 0.011)
    with pytest.raises(TooSlow):
        await match_ahead("t.*", NAMES * 10, clock)
    assert 1 < clock.now_s < 1.02


def test_what_cannot_be_read_is_for_the_machine_to_refuse() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        ask = replace(consumer_ask(broker, "a"), names=None, regex="(")
        beaten = await broker.do(broker.groups.consumer_beat(GROUP, ask))
        assert beaten.fault is Fault.INVALID_REGULAR_EXPRESSION
        assert beaten.message is not None
        assert "is refused" not in beaten.message

    play(scene)


def test_a_pattern_is_matched_ahead_when_it_is_new_to_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead: list[str] = []

    async def noted(pattern: str, names: object, clock: object) -> None:
        ahead.append(pattern)

    monkeypatch.setattr("dray.coordinators.coordinator.match_ahead", noted)

    async def scene(rig: Rig) -> None:
        ahead.clear()
        broker = await rig.broker()
        ask = replace(consumer_ask(broker, "a"), names=None, regex="[a-z]+")
        beaten = await broker.do(broker.groups.consumer_beat(GROUP, ask))
        assert beaten.fault is Fault.NONE
        assert ahead == ["[a-z]+"]
        same = replace(ask, epoch=beaten.epoch)
        assert (await broker.do(broker.groups.consumer_beat(GROUP, same))).fault is Fault.NONE
        assert ahead == ["[a-z]+"]

    play(scene)


def _never(text: bytes) -> object:
    raise AssertionError(f"{text!r} is in the book")


def test_a_name_that_was_matched_is_not_matched_again() -> None:
    book = patterns.Book("x[yz]+")
    assert book.matches("xyz")
    book._fullmatch = _never
    assert book.matches("xyz")


def test_a_member_with_a_pattern_that_takes_too_long_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def too_slow(*_: object) -> None:
        raise TooSlow("it takes more than 1 s to match the topics there are")

    monkeypatch.setattr("dray.coordinators.coordinator.match_ahead", too_slow)

    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        ask = replace(consumer_ask(broker, "a"), names=None, regex="(a?){9}")
        beaten = await broker.do(broker.groups.consumer_beat(GROUP, ask))
        assert beaten.fault is Fault.INVALID_REGULAR_EXPRESSION
        assert beaten.message is not None
        assert "`(a?){9}` is refused: it takes more than 1 s" in beaten.message
        assert await broker.do(broker.groups.find(GROUP)) is None

    play(scene)
