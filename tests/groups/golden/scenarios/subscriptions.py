"""The consumer protocol: topics that come, grow and go, and patterns."""

from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import delete_topic, grow_topic, make_topic

_RESOLVED_S = 1.0
"""Within this time a pattern has been matched with all topics."""
_MATCHED_ANEW_S = 11
"""Patterns are not matched with new topics more often than every 10 s."""


@scenario()
async def topic_comes(script: Script) -> None:
    """A topic that was subscribed to before it was there."""
    a = ConsumerMember(script, "a")
    await a.join()
    await a.beat()
    await make_topic(script, partitions=2)
    await a.beat()
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def topic_grows(script: Script) -> None:
    """A topic gets more partitions."""
    await make_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    await a.beat()
    await a.confirm()
    await b.beat()
    await grow_topic(script, "t", 4)
    await a.beat()
    await b.beat()
    await a.describe_consumer()


@scenario()
async def topic_goes(script: Script) -> None:
    """A topic is deleted under its readers."""
    await make_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    await a.join()
    await delete_topic(script, "t")
    await a.beat()
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def topic_is_made_anew(script: Script) -> None:
    """A topic is deleted and made anew: it has another id."""
    await make_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    await a.join()
    await a.confirm()
    await delete_topic(script, "t")
    script.rename_topic("t", "t before")
    await make_topic(script, partitions=1)
    await a.beat()
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def other_topics_come(script: Script) -> None:
    """Topics that nobody has subscribed to change nothing."""
    await make_topic(script)
    a = ConsumerMember(script, "a")
    await a.join()
    await make_topic(script, "u")
    await a.beat()
    await a.describe_consumer()


@scenario()
async def pattern(script: Script) -> None:
    """A pattern is matched after the answer; with the next heartbeat there is a share."""
    await make_topic(script, "t1", 2)
    await make_topic(script, "x1")
    a = ConsumerMember(script, "a")
    await a.join(None, regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.describe_consumer()
    await a.beat()
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def pattern_of_two(script: Script) -> None:
    """A second member with the same pattern need not wait for it to be matched."""
    await make_topic(script, "t1", 2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join(None, regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.beat()
    await b.join(None, regex="t.*")
    await a.beat()
    await a.confirm()
    await b.beat()
    await a.describe_consumer()


@scenario()
async def pattern_matches_nothing(script: Script) -> None:
    """A pattern without topics is as good as no topics; a later topic is found within 10 s."""
    a = ConsumerMember(script, "a")
    await a.join(None, regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.beat()
    await a.describe_consumer()
    await make_topic(script, "t1")
    await a.beat()
    await script.wait(_MATCHED_ANEW_S)
    await a.beat()
    await script.pause(_RESOLVED_S)
    await a.beat()
    await a.describe_consumer()


@scenario()
async def pattern_and_names(script: Script) -> None:
    """A member may have both names and a pattern; what both name counts once."""
    for topic in ("t1", "t2", "x"):
        await make_topic(script, topic)
    a = ConsumerMember(script, "a")
    await a.join(("x", "t1"), regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.beat()
    await a.describe_consumer()
    await a.beat(regex="")
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def pattern_becomes_names(script: Script) -> None:
    """A member goes over from a pattern to names."""
    for topic in ("t1", "x"):
        await make_topic(script, topic)
    a = ConsumerMember(script, "a")
    await a.join(None, regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.beat()
    await a.beat(topics=("x",), regex="")
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def other_pattern(script: Script) -> None:
    """A member changes its pattern."""
    for topic in ("t1", "x1"):
        await make_topic(script, topic)
    a = ConsumerMember(script, "a")
    await a.join(None, regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.beat()
    await a.beat(regex="x.*")
    await script.pause(_RESOLVED_S)
    await a.beat()
    await a.confirm()
    await a.describe_consumer()
    await script.wait(_MATCHED_ANEW_S)
    await a.beat()
    await script.pause(_RESOLVED_S)
    await a.beat()
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def wrong_patterns(script: Script) -> None:
    """A pattern that is none is refused; whoever had a right one keeps it."""
    await make_topic(script, "t1")
    a = ConsumerMember(script, "a")
    for regex in ("[", "(", "*", "a{2,1}", "(?=t)t1", r"\1"):
        await a.join(None, regex=regex)
    await a.describe_consumer()
    await a.join(None, regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.beat(regex="[")
    await a.beat()
    await a.describe_consumer()


@scenario()
async def whole_names(script: Script) -> None:
    """A pattern must match a name from beginning to end, in RE2's syntax."""
    for topic in ("t1", "at1", "T1"):
        await make_topic(script, topic)
    for number, regex in enumerate(("t1", "t", "(?i)t1", "[ta]+1", "^t1", "t1|at1", r"\pL1")):
        a = ConsumerMember(script, "a", group=f"g{number}")
        await a.join(None, regex=f"({regex})")
        await script.pause(_RESOLVED_S)
        await a.beat()
