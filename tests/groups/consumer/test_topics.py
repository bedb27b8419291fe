"""Topics that come, grow and go, seen by several brokers that do not see the same at the same time."""

from dray.groups.consumer import Topic, is_subscribed, refresh, subscribed_topics
from tests.groups.consumer.builders import (
    LIMITS,
    Consumer,
    Desk,
    a_beat,
    a_join,
    image,
    joined,
    parts,
    topic_id,
)


def test_a_topic_that_grows() -> None:
    desk = Desk(image(t=2))
    (member,) = joined(desk, "a")
    desk.topics = desk.topics.with_topic("t", 3)
    assert member.beat().assignment == parts(t=[0, 1, 2])
    assert desk.known.topics == {"t": Topic(topic_id("t"), 3)}


def test_a_topic_that_is_deleted_is_given_up() -> None:
    desk = Desk(image(t=1, u=1))
    (member,) = joined(desk, "a", names=("t", "u"))
    desk.topics = desk.topics.without_topic("u")
    assert member.beat().assignment == parts(t=[0])
    member.beat()
    assert desk.member("a").assigned.keys() == {topic_id("t")}


def test_a_topic_that_is_made_anew_is_another() -> None:
    desk = Desk(image(t=1))
    (member,) = joined(desk, "a")
    desk.topics = desk.topics.without_topic("t").with_topic("t", 1, life=1)
    member.beat()
    assert member.beat().assignment == {topic_id("t", 1): (0,)}


def test_other_topics_do_not_matter() -> None:
    desk = Desk(image(t=1))
    joined(desk, "a")
    group = desk.known
    desk.topics = desk.topics.with_topic("u", 1)
    desk.ask(a_beat("a", 2))
    assert desk.known is group


def test_nothing_is_looked_at_twice() -> None:
    desk = Desk(image(t=1))
    joined(desk, "a")
    group, sight = refresh(desk.known, desk.topics, LIMITS, desk.now_ms, None)
    again = refresh(group, desk.topics, LIMITS, desk.now_ms + 3_600_000, sight)
    assert again[0] is group
    assert again[1] is sight


def test_a_change_that_could_not_be_stored_is_seen_again() -> None:
    desk = Desk(image(t=1))
    joined(desk, "a")
    desk.look()
    stored, grown = desk.known, desk.topics.with_topic("t", 2)
    changed, sight = refresh(stored, grown, LIMITS, desk.now_ms, desk.sight)
    assert changed.epoch == stored.epoch + 1
    changed, sight = refresh(stored, grown, LIMITS, desk.now_ms, sight)
    assert changed.epoch == stored.epoch + 1
    assert refresh(changed, grown, LIMITS, desk.now_ms, sight)[0] is changed


def test_a_broker_that_lags_behind_does_not_turn_back_what_another_saw() -> None:
    ahead = Desk(image(t=1))
    (member,) = joined(ahead, "a")
    behind = Desk(ahead.topics, group=ahead.group)
    behind.look()
    ahead.topics = ahead.topics.with_topic("t", 2)
    ahead.look()
    behind.group = ahead.group
    member.desk = behind
    assert member.beat().assignment == parts(t=[0, 1])
    behind.topics = ahead.topics
    group = behind.known
    behind.look()
    assert behind.known is group


def test_what_a_broker_overlooked_is_found_by_another_in_time() -> None:
    """It is not found at once: the one that overlooked it will mostly see it itself in a moment."""
    ahead = Desk(image(t=1))
    joined(ahead, "a")
    behind = Desk(ahead.topics, group=ahead.group)
    behind.look()
    ahead.topics = ahead.topics.with_topic("u", 1)
    ahead.look()
    behind.ask(a_beat("a", 2, names=("t", "u")))
    assert behind.known.topics.keys() == {"t"}
    ahead.group = behind.group
    ahead.now_ms += 9_999
    ahead.look()
    assert ahead.group is behind.group
    ahead.now_ms += 1
    ahead.look()
    assert ahead.known.topics.keys() == {"t", "u"}


def test_what_the_group_knows_already_need_not_be_seen_again() -> None:
    ahead = Desk(image(t=1))
    joined(ahead, "a")
    behind = Desk(ahead.topics, group=ahead.group)
    behind.look()
    ahead.topics = ahead.topics.with_topic("u", 1)
    newcomer = Consumer(ahead, "b")
    newcomer.join("u")
    behind.group = ahead.group
    behind.ask(a_join("c", "u"))
    assert behind.known.topics.keys() == {"t", "u"}


def test_what_the_group_is_subscribed_to() -> None:
    desk = Desk(image(t=1, orders=1))
    Consumer(desk, "a").join("t", "missing")
    Consumer(desk, "b").join(regex="ord.*")
    assert subscribed_topics(desk.known) == {"t", "missing", "orders"}
    assert is_subscribed(desk.known, "orders")
    assert not is_subscribed(desk.known, "u")
