"""Subscriptions by pattern."""

import pytest

from dray.groups.consumer import Sight, refresh
from dray.groups.consumer.patterns import BadPattern, compiled, matching
from dray.groups.faults import Fault
from tests.groups.consumer import builders
from tests.groups.consumer.builders import (
    LIMITS,
    Consumer,
    Desk,
    Image,
    a_beat,
    a_join,
    image,
    parts,
    topic_id,
)


def test_whole_names_match() -> None:
    assert matching("or.*s", ["orders", "order", "sorders", "ors"]) == ("orders", "ors")
    assert matching("a|b", ["ab", "b", "a"]) == ("a", "b")


@pytest.mark.parametrize("pattern", ["(", "a**", "(?=a)", "\\1", "a{1001}", "\ud800", "(.{1000}){10}"])
def test_patterns_that_cannot_be_read(pattern: str) -> None:
    with pytest.raises(BadPattern):
        compiled(pattern)


def test_a_bad_pattern_is_refused() -> None:
    desk = Desk(image(t=1))
    reply = desk.ask(a_join("a", names=None, regex="(t"))
    assert (reply.fault, reply.message) == (
        Fault.INVALID_REGULAR_EXPRESSION,
        "SubscribedTopicRegex `(t` is not a valid regular expression: missing ): (t.",
    )
    assert desk.group is None


def test_the_first_answer_holds_what_matches() -> None:
    desk = Desk(image(orders=1, orbit=2, t=1))
    reply = desk.ask(a_join("a", "t", regex="or.*"))
    assert reply.assignment == parts(orders=[0], orbit=[0, 1], t=[0])
    assert desk.known.regexes == {"or.*": ("orbit", "orders")}


def test_a_pattern_is_changed_and_dropped() -> None:
    desk = Desk(image(orders=1, other=1))
    member = Consumer(desk, "a")
    member.join(regex="or.*")
    member.beat(regex="ot.*")
    assert member.beat().assignment == parts(other=[0])
    assert set(desk.known.regexes) == {"ot.*"}
    member.beat(regex="")
    assert desk.known.regexes == {}
    assert desk.known.topics == {}


def test_a_pattern_goes_with_its_last_member() -> None:
    desk = Desk(image(orders=2))
    first, second = Consumer(desk, "a"), Consumer(desk, "b")
    first.join(regex="or.*")
    second.join(regex="or.*")
    desk.ask(a_beat("a", -1))
    assert set(desk.known.regexes) == {"or.*"}
    desk.ask(a_beat("b", -1))
    assert (desk.known.regexes, desk.known.topics) == ({}, {})


def test_new_topics_are_matched_but_not_too_often() -> None:
    desk = Desk(image(orders=1))
    member = Consumer(desk, "a")
    member.join(regex="or.*")
    desk.look()
    group = desk.known
    desk.topics = desk.topics.with_topic("orbit", 1)
    desk.now_ms += 9_999
    desk.look()
    assert desk.known is group
    desk.now_ms += 1
    assert member.beat().assignment == parts(orbit=[0], orders=[0])


def test_a_topic_that_matched_and_is_deleted_is_given_up_at_once() -> None:
    desk = Desk(image(orders=1, orbit=1))
    member = Consumer(desk, "a")
    member.join(regex="or.*")
    desk.look()
    desk.topics = desk.topics.without_topic("orbit")
    assert member.beat().assignment == parts(orders=[0])


def _names_matched(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    matched: list[set[str]] = []

    def recorded(pattern: str, names: frozenset[str]) -> tuple[str, ...]:
        matched.append(set(names))
        return matching(pattern, names)

    monkeypatch.setattr("dray.groups.consumer.sight.matching", recorded)
    return matched


def test_only_new_names_are_matched(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(image(orders=1, t=1))
    Consumer(desk, "a").join(regex="or.*")
    desk.look()
    matched = _names_matched(monkeypatch)
    desk.topics = desk.topics.with_topic("orbit", 1).without_topic("t")
    desk.now_ms += 10_000
    desk.look()
    assert matched == [{"orbit"}]
    assert desk.known.regexes == {"or.*": ("orbit", "orders")}


def _filtered(topics: Image, *names: str) -> Image:
    """The same version, as one may see it who may see less."""
    return Image(topics.version, {name: topics.seen[name] for name in names})


def test_patterns_are_matched_anew_after_the_refresh_interval() -> None:
    desk = Desk(image(orders=1, orbit=1))
    Consumer(desk, "a").join(regex="or.*")
    desk.look()
    desk.look()
    group, sight = desk.known, desk.sight
    fewer = _filtered(desk.topics, "orders")
    soon = desk.now_ms + LIMITS.consumer_regex_refresh_interval_ms
    assert refresh(group, fewer, LIMITS, soon - 1, sight) == (group, sight)
    assert refresh(group, fewer, LIMITS, soon, sight)[0].regexes == {"or.*": ("orders",)}


def test_a_change_of_patterns_that_could_not_be_stored_is_made_again() -> None:
    desk = Desk(image(orders=1))
    Consumer(desk, "a").join(regex="or.*")
    desk.look()
    stored, more = desk.known, desk.topics.with_topic("orbit", 1)
    later = desk.now_ms + 10_000
    sight: Sight | None = desk.sight
    for _ in range(2):
        changed, sight = refresh(stored, more, LIMITS, later, sight)
        assert changed.regexes == {"or.*": ("orbit", "orders")}
        assert changed.epoch == stored.epoch + 1


def test_a_hostile_pattern_takes_no_ages() -> None:
    """Exponential elsewhere; the worst that RE2 lets through takes milliseconds for a name."""
    names = ["a" * 249 + "b"] * 3
    assert matching("(a*)*(a*)*(a*)*c", names) == ()


def test_ids_of_topics_are_those_of_the_image() -> None:
    assert builders.topic_id("t") == topic_id("t") != topic_id("t", 1)
