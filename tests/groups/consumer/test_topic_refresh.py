"""Topics that are created, grow and are deleted, as seen by brokers whose images differ."""

from dray.groups.consumer import TopicMetadata, is_subscribed, refresh, subscribed_topics
from tests.groups.consumer.builders import (
    LIMITS,
    Consumer,
    GroupHarness,
    a_heartbeat,
    a_join,
    image,
    joined,
    parts,
    topic_id,
)


def test_new_partitions_of_a_topic_are_assigned() -> None:
    harness = GroupHarness(image(t=2))
    (member,) = joined(harness, "a")
    harness.topics = harness.topics.with_topic("t", 3)
    assert member.heartbeat().assignment == parts(t=[0, 1, 2])
    assert harness.known.topics == {"t": TopicMetadata(topic_id("t"), 3)}


def test_deleted_topic_is_revoked() -> None:
    harness = GroupHarness(image(t=1, u=1))
    (member,) = joined(harness, "a", names=("t", "u"))
    harness.topics = harness.topics.without_topic("u")
    assert member.heartbeat().assignment == parts(t=[0])
    member.heartbeat()
    assert harness.member("a").assigned.keys() == {topic_id("t")}


def test_recreated_topic_is_a_different_topic() -> None:
    harness = GroupHarness(image(t=1))
    (member,) = joined(harness, "a")
    harness.topics = harness.topics.without_topic("t").with_topic("t", 1, incarnation=1)
    member.heartbeat()
    assert member.heartbeat().assignment == {topic_id("t", 1): (0,)}


def test_topics_without_subscription_do_not_change_the_group() -> None:
    harness = GroupHarness(image(t=1))
    joined(harness, "a")
    group = harness.known
    harness.topics = harness.topics.with_topic("u", 1)
    harness.send(a_heartbeat("a", 2))
    assert harness.known is group


def test_refresh_without_changes_returns_the_same_objects() -> None:
    harness = GroupHarness(image(t=1))
    joined(harness, "a")
    group, last_refresh = refresh(harness.known, harness.topics, LIMITS, harness.now_ms, None)
    again = refresh(group, harness.topics, LIMITS, harness.now_ms + 3_600_000, last_refresh)
    assert again[0] is group
    assert again[1] is last_refresh


def test_refresh_is_repeated_if_it_was_not_stored() -> None:
    harness = GroupHarness(image(t=1))
    joined(harness, "a")
    harness.refresh()
    stored, grown = harness.known, harness.topics.with_topic("t", 2)
    changed, last_refresh = refresh(stored, grown, LIMITS, harness.now_ms, harness.last_refresh)
    assert changed.epoch == stored.epoch + 1
    changed, last_refresh = refresh(stored, grown, LIMITS, harness.now_ms, last_refresh)
    assert changed.epoch == stored.epoch + 1
    assert refresh(changed, grown, LIMITS, harness.now_ms, last_refresh)[0] is changed


def test_lagging_broker_does_not_revert_what_another_refreshed() -> None:
    ahead = GroupHarness(image(t=1))
    (member,) = joined(ahead, "a")
    behind = GroupHarness(ahead.topics, group=ahead.group)
    behind.refresh()
    ahead.topics = ahead.topics.with_topic("t", 2)
    ahead.refresh()
    behind.group = ahead.group
    member.harness = behind
    assert member.heartbeat().assignment == parts(t=[0, 1])
    behind.topics = ahead.topics
    group = behind.known
    behind.refresh()
    assert behind.known is group


def test_change_missed_by_one_broker_is_found_by_another_after_ten_seconds() -> None:
    """Not at once, since the broker that missed it will usually find it itself a moment later."""
    ahead = GroupHarness(image(t=1))
    joined(ahead, "a")
    behind = GroupHarness(ahead.topics, group=ahead.group)
    behind.refresh()
    ahead.topics = ahead.topics.with_topic("u", 1)
    ahead.refresh()
    behind.send(a_heartbeat("a", 2, names=("t", "u")))
    assert behind.known.topics.keys() == {"t"}
    ahead.group = behind.group
    ahead.now_ms += 9_999
    ahead.refresh()
    assert ahead.group is behind.group
    ahead.now_ms += 1
    ahead.refresh()
    assert ahead.known.topics.keys() == {"t", "u"}


def test_topics_known_to_the_group_need_not_be_in_the_brokers_image() -> None:
    ahead = GroupHarness(image(t=1))
    joined(ahead, "a")
    behind = GroupHarness(ahead.topics, group=ahead.group)
    behind.refresh()
    ahead.topics = ahead.topics.with_topic("u", 1)
    newcomer = Consumer(ahead, "b")
    newcomer.join("u")
    behind.group = ahead.group
    behind.send(a_join("c", "u"))
    assert behind.known.topics.keys() == {"t", "u"}


def test_subscribed_topics_include_names_and_regex_matches() -> None:
    harness = GroupHarness(image(t=1, orders=1))
    Consumer(harness, "a").join("t", "missing")
    Consumer(harness, "b").join(regex="ord.*")
    assert subscribed_topics(harness.known) == {"t", "missing", "orders"}
    assert is_subscribed(harness.known, "orders")
    assert not is_subscribed(harness.known, "u")
