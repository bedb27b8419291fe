"""Prematching of regexes: a slow one does not block other tasks, and is rejected if it takes too long."""

from dataclasses import replace

import pytest

from dray.coordinators import topics
from dray.coordinators.topics import RegexTooSlow, prematch
from dray.groups.consumer import regexes
from dray.groups.types import GroupError
from dray.runtime import SystemClock
from tests.coordinators.builders import GROUP, Rig, consumer_heartbeat, simulate, simulated

NAMES = [f"t{number}" for number in range(40)]


class MatchingClock(SystemClock):
    """A clock on which each match takes some time; sleeps are recorded."""

    def __init__(self, match_s: float) -> None:
        self.now_s = 0.0
        self.match_s = match_s
        self.sleeps: list[float] = []

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)

    def name_matcher(self, regex: str) -> regexes.NameMatcher:
        clock, matcher = self, regexes.NameMatcher(regex)

        class SlowMatcher(regexes.NameMatcher):
            def matches(self, name: str) -> bool:
                clock.now_s += clock.match_s
                return matcher.matches(name)

        return SlowMatcher(regex)


def matching_takes(monkeypatch: pytest.MonkeyPatch, match_s: float) -> MatchingClock:
    clock = MatchingClock(match_s)
    monkeypatch.setattr(topics, "name_matcher", clock.name_matcher)
    return clock


async def test_other_tasks_run_between_slow_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = matching_takes(monkeypatch, 0.011)
    await prematch("t.*", NAMES, clock)
    assert clock.sleeps == [0] * len(NAMES)


async def test_fast_matches_run_in_one_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = matching_takes(monkeypatch, 3e-6)
    await prematch("t.*", NAMES, clock)
    assert clock.sleeps == []


async def test_regex_that_takes_too_long_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = matching_takes(monkeypatch, 0.011)
    with pytest.raises(RegexTooSlow):
        await prematch("t.*", NAMES * 10, clock)
    assert 1 < clock.now_s < 1.02


@simulated
async def test_invalid_regex_is_left_to_the_machine_to_reject(rig: Rig) -> None:
    broker = await rig.broker()
    command = replace(consumer_heartbeat(broker, "a"), names=None, regex="(")
    result = await broker.do(broker.groups.consumer_heartbeat(GROUP, command))
    assert result.error is GroupError.INVALID_REGULAR_EXPRESSION
    assert result.message is not None
    assert "is refused" not in result.message


def test_only_a_regex_new_to_its_group_is_prematched(monkeypatch: pytest.MonkeyPatch) -> None:
    prematched: list[str] = []

    async def record(regex: str, names: object, clock: object) -> None:
        prematched.append(regex)

    monkeypatch.setattr("dray.coordinators.coordinator.prematch", record)

    async def main(rig: Rig) -> None:
        prematched.clear()
        broker = await rig.broker()
        command = replace(consumer_heartbeat(broker, "a"), names=None, regex="[a-z]+")
        result = await broker.do(broker.groups.consumer_heartbeat(GROUP, command))
        assert result.error is GroupError.NONE
        assert prematched == ["[a-z]+"]
        same = replace(command, epoch=result.epoch)
        assert (await broker.do(broker.groups.consumer_heartbeat(GROUP, same))).error is GroupError.NONE
        assert prematched == ["[a-z]+"]

    simulate(main)


def _never(text: bytes) -> object:
    raise AssertionError(f"{text!r} was matched again")


def test_name_is_matched_only_once() -> None:
    matcher = regexes.NameMatcher("x[yz]+")
    assert matcher.matches("xyz")
    matcher._fullmatch = _never
    assert matcher.matches("xyz")


def test_heartbeat_with_a_slow_regex_returns_invalid_regular_expression(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def too_slow(*_: object) -> None:
        raise RegexTooSlow("it takes more than 1 s to match the topics there are")

    monkeypatch.setattr("dray.coordinators.coordinator.prematch", too_slow)

    async def main(rig: Rig) -> None:
        broker = await rig.broker()
        command = replace(consumer_heartbeat(broker, "a"), names=None, regex="(a?){9}")
        result = await broker.do(broker.groups.consumer_heartbeat(GROUP, command))
        assert result.error is GroupError.INVALID_REGULAR_EXPRESSION
        assert result.message is not None
        assert "`(a?){9}` is refused: it takes more than 1 s" in result.message
        assert await broker.do(broker.groups.find(GROUP)) is None

    simulate(main)
