"""Consumer protocol: topics that are created, grow and are deleted, and regex subscriptions."""

from tests.groups.golden.consumer import ConsumerMember
from tests.groups.golden.registry import scenario
from tests.groups.golden.script import Script
from tests.groups.golden.topics import create_topic, delete_topic, grow_topic

_RESOLVED_S = 1.0
"""Within this time a pattern has been matched with all topics."""
_MATCHED_AGAIN_S = 11
"""Patterns are not matched with new topics more often than every 10 s."""


@scenario()
async def topic_is_created(script: Script) -> None:
    """A topic is created after it was subscribed to."""
    a = ConsumerMember(script, "a")
    await a.join()
    await a.heartbeat()
    await create_topic(script, partitions=2)
    await a.heartbeat()
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def topic_grows(script: Script) -> None:
    """A topic gets more partitions."""
    await create_topic(script, partitions=2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join()
    await b.join()
    await a.heartbeat()
    await a.confirm()
    await b.heartbeat()
    await grow_topic(script, "t", 4)
    await a.heartbeat()
    await b.heartbeat()
    await a.describe_consumer()


@scenario()
async def topic_is_deleted(script: Script) -> None:
    """A subscribed topic is deleted."""
    await create_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    await a.join()
    await delete_topic(script, "t")
    await a.heartbeat()
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def topic_is_recreated(script: Script) -> None:
    """A topic is deleted and created again: it has another id."""
    await create_topic(script, partitions=2)
    a = ConsumerMember(script, "a")
    await a.join()
    await a.confirm()
    await delete_topic(script, "t")
    script.rename_topic("t", "t before")
    await create_topic(script, partitions=1)
    await a.heartbeat()
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def other_topics_are_created(script: Script) -> None:
    """Topics without subscribers change nothing."""
    await create_topic(script)
    a = ConsumerMember(script, "a")
    await a.join()
    await create_topic(script, "u")
    await a.heartbeat()
    await a.describe_consumer()


@scenario()
async def regex(script: Script) -> None:
    """A regex is evaluated after the reply; the next heartbeat returns the assignment."""
    await create_topic(script, "t1", 2)
    await create_topic(script, "x1")
    a = ConsumerMember(script, "a")
    await a.join(None, regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.describe_consumer()
    await a.heartbeat()
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def regex_of_two_members(script: Script) -> None:
    """A second member with the same regex does not wait for its evaluation."""
    await create_topic(script, "t1", 2)
    a, b = ConsumerMember(script, "a"), ConsumerMember(script, "b")
    await a.join(None, regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.heartbeat()
    await b.join(None, regex="t.*")
    await a.heartbeat()
    await a.confirm()
    await b.heartbeat()
    await a.describe_consumer()


@scenario()
async def regex_without_matches(script: Script) -> None:
    """A regex without matching topics counts as an empty subscription; a later topic is found within 10 s."""
    a = ConsumerMember(script, "a")
    await a.join(None, regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.heartbeat()
    await a.describe_consumer()
    await create_topic(script, "t1")
    await a.heartbeat()
    await script.wait(_MATCHED_AGAIN_S)
    await a.heartbeat()
    await script.pause(_RESOLVED_S)
    await a.heartbeat()
    await a.describe_consumer()


@scenario()
async def regex_and_names(script: Script) -> None:
    """A member may subscribe by names and by regex; a topic that both include counts once."""
    for topic in ("t1", "t2", "x"):
        await create_topic(script, topic)
    a = ConsumerMember(script, "a")
    await a.join(("x", "t1"), regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.heartbeat()
    await a.describe_consumer()
    await a.heartbeat(regex="")
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def regex_replaced_by_names(script: Script) -> None:
    """A member replaces its regex by names."""
    for topic in ("t1", "x"):
        await create_topic(script, topic)
    a = ConsumerMember(script, "a")
    await a.join(None, regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.heartbeat()
    await a.heartbeat(topics=("x",), regex="")
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def other_regex(script: Script) -> None:
    """A member changes its regex."""
    for topic in ("t1", "x1"):
        await create_topic(script, topic)
    a = ConsumerMember(script, "a")
    await a.join(None, regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.heartbeat()
    await a.heartbeat(regex="x.*")
    await script.pause(_RESOLVED_S)
    await a.heartbeat()
    await a.confirm()
    await a.describe_consumer()
    await script.wait(_MATCHED_AGAIN_S)
    await a.heartbeat()
    await script.pause(_RESOLVED_S)
    await a.heartbeat()
    await a.confirm()
    await a.describe_consumer()


@scenario()
async def invalid_regexes(script: Script) -> None:
    """An invalid regex is rejected; a member keeps its previous valid one."""
    await create_topic(script, "t1")
    a = ConsumerMember(script, "a")
    for regex in ("[", "(", "*", "a{2,1}", "(?=t)t1", r"\1"):
        await a.join(None, regex=regex)
    await a.describe_consumer()
    await a.join(None, regex="t.*")
    await script.pause(_RESOLVED_S)
    await a.heartbeat(regex="[")
    await a.heartbeat()
    await a.describe_consumer()


@scenario()
async def whole_names(script: Script) -> None:
    """A regex must match whole names, in RE2's syntax."""
    for topic in ("t1", "at1", "T1"):
        await create_topic(script, topic)
    for number, regex in enumerate(("t1", "t", "(?i)t1", "[ta]+1", "^t1", "t1|at1", r"\pL1")):
        a = ConsumerMember(script, "a", group=f"g{number}")
        await a.join(None, regex=f"({regex})")
        await script.pause(_RESOLVED_S)
        await a.heartbeat()
