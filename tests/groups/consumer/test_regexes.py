"""Regex subscriptions."""

from dataclasses import replace

import pytest

from dray.groups.consumer import LastRefresh, refresh
from dray.groups.consumer.regexes import InvalidRegex, compiled, matching_names
from dray.groups.types import GroupError
from tests.groups.consumer import builders
from tests.groups.consumer.builders import (
    LIMITS,
    Consumer,
    GroupHarness,
    Image,
    a_heartbeat,
    a_join,
    image,
    parts,
    topic_id,
)


def test_regexes_match_whole_names() -> None:
    assert matching_names("or.*s", ["orders", "order", "sorders", "ors"]) == ("orders", "ors")
    assert matching_names("a|b", ["ab", "b", "a"]) == ("a", "b")


@pytest.mark.parametrize("regex", ["(", "a**", "(?=a)", "\\1", "a{1001}", "\ud800", "(.{1000}){10}"])
def test_invalid_regexes_raise_invalid_regex(regex: str) -> None:
    with pytest.raises(InvalidRegex):
        compiled(regex)


def test_heartbeat_with_an_invalid_regex_is_rejected() -> None:
    harness = GroupHarness(image(t=1))
    reply = harness.send(a_join("a", names=None, regex="(t"))
    assert (reply.error, reply.message) == (
        GroupError.INVALID_REGULAR_EXPRESSION,
        "SubscribedTopicRegex `(t` is not a valid regular expression: missing ): (t.",
    )
    assert harness.group is None


def test_first_reply_assigns_the_matching_topics() -> None:
    harness = GroupHarness(image(orders=1, orbit=2, t=1))
    reply = harness.send(a_join("a", "t", regex="or.*"))
    assert reply.assignment == parts(orders=[0], orbit=[0, 1], t=[0])
    assert harness.known.regexes == {"or.*": ("orbit", "orders")}


def test_regex_can_be_changed_and_dropped() -> None:
    harness = GroupHarness(image(orders=1, other=1))
    member = Consumer(harness, "a")
    member.join(regex="or.*")
    member.heartbeat(regex="ot.*")
    assert member.heartbeat().assignment == parts(other=[0])
    assert set(harness.known.regexes) == {"ot.*"}
    member.heartbeat(regex="")
    assert harness.known.regexes == {}
    assert harness.known.topics == {}


def test_regex_is_dropped_with_its_last_member() -> None:
    harness = GroupHarness(image(orders=2))
    first, second = Consumer(harness, "a"), Consumer(harness, "b")
    first.join(regex="or.*")
    second.join(regex="or.*")
    harness.send(a_heartbeat("a", -1))
    assert set(harness.known.regexes) == {"or.*"}
    harness.send(a_heartbeat("b", -1))
    assert (harness.known.regexes, harness.known.topics) == ({}, {})


def test_new_topics_are_matched_at_most_every_ten_seconds() -> None:
    harness = GroupHarness(image(orders=1))
    member = Consumer(harness, "a")
    member.join(regex="or.*")
    harness.refresh()
    group = harness.known
    harness.topics = harness.topics.with_topic("orbit", 1)
    harness.now_ms += 9_999
    harness.refresh()
    assert harness.known is group
    harness.now_ms += 1
    assert member.heartbeat().assignment == parts(orbit=[0], orders=[0])


def test_deleted_topic_that_matched_is_revoked_at_once() -> None:
    harness = GroupHarness(image(orders=1, orbit=1))
    member = Consumer(harness, "a")
    member.join(regex="or.*")
    harness.refresh()
    harness.topics = harness.topics.without_topic("orbit")
    assert member.heartbeat().assignment == parts(orders=[0])


def _names_matched(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    matched: list[set[str]] = []

    def recorded(regex: str, names: frozenset[str]) -> tuple[str, ...]:
        matched.append(set(names))
        return matching_names(regex, names)

    monkeypatch.setattr("dray.groups.consumer.topic_refresh.matching_names", recorded)
    return matched


def test_only_new_names_are_matched(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = GroupHarness(image(orders=1, t=1))
    Consumer(harness, "a").join(regex="or.*")
    harness.refresh()
    matched = _names_matched(monkeypatch)
    harness.topics = harness.topics.with_topic("orbit", 1).without_topic("t")
    harness.now_ms += 10_000
    harness.refresh()
    assert matched == [{"orbit"}]
    assert harness.known.regexes == {"or.*": ("orbit", "orders")}


def test_regex_does_not_match_what_its_member_may_not_describe() -> None:
    topics = image(orders=1, orbit=1)
    harness = GroupHarness(replace(topics, hidden=frozenset({"orbit"})))
    member = Consumer(harness, "a")
    assert member.join(regex="or.*").assignment == parts(orders=[0])
    assert harness.known.regexes == {"or.*": ("orders",)}


def test_refresh_uses_the_rights_of_its_member_and_keeps_them_until_the_next_one() -> None:
    harness = GroupHarness(image(orders=1, orbit=1))
    Consumer(harness, "a").join(regex="or.*")
    harness.refresh()
    group, last = harness.known, harness.last_refresh
    fewer = replace(harness.topics, hidden=frozenset({"orbit"}))
    soon = harness.now_ms + LIMITS.consumer_regex_refresh_interval_ms
    assert refresh(group, fewer, LIMITS, soon - 1, last)[0].regexes == {"or.*": ("orbit", "orders")}
    group, last = refresh(group, fewer, LIMITS, soon, last)
    assert group.regexes == {"or.*": ("orders",)}
    assert refresh(group, harness.topics, LIMITS, soon + 1, last)[0].regexes == {"or.*": ("orders",)}
    later = soon + LIMITS.consumer_regex_refresh_interval_ms
    assert refresh(group, harness.topics, LIMITS, later, last)[0].regexes == {"or.*": ("orbit", "orders")}


def _filtered(topics: Image, *names: str) -> Image:
    """An image of the same version with fewer topics."""
    return Image(topics.version, {name: topics.seen[name] for name in names})


def test_regexes_are_evaluated_again_after_the_refresh_interval() -> None:
    harness = GroupHarness(image(orders=1, orbit=1))
    Consumer(harness, "a").join(regex="or.*")
    harness.refresh()
    harness.refresh()
    group, last_refresh = harness.known, harness.last_refresh
    fewer = _filtered(harness.topics, "orders")
    soon = harness.now_ms + LIMITS.consumer_regex_refresh_interval_ms
    assert refresh(group, fewer, LIMITS, soon - 1, last_refresh) == (group, last_refresh)
    assert refresh(group, fewer, LIMITS, soon, last_refresh)[0].regexes == {"or.*": ("orders",)}


def test_regex_refresh_is_repeated_if_it_was_not_stored() -> None:
    harness = GroupHarness(image(orders=1))
    Consumer(harness, "a").join(regex="or.*")
    harness.refresh()
    stored, more = harness.known, harness.topics.with_topic("orbit", 1)
    later = harness.now_ms + 10_000
    last_refresh: LastRefresh | None = harness.last_refresh
    for _ in range(2):
        changed, last_refresh = refresh(stored, more, LIMITS, later, last_refresh)
        assert changed.regexes == {"or.*": ("orbit", "orders")}
        assert changed.epoch == stored.epoch + 1


def test_hostile_regex_matches_in_linear_time() -> None:
    """Other engines take exponential time; the worst regex that RE2 accepts takes milliseconds per name."""
    names = ["a" * 249 + "b"] * 3
    assert matching_names("(a*)*(a*)*(a*)*c", names) == ()


def test_topic_ids_depend_on_name_and_incarnation() -> None:
    assert builders.topic_id("t") == topic_id("t") != topic_id("t", 1)
