"""Topics come, grow and go: how a group learns of it, without looking at all of them with every heartbeat.

    group, sight = refresh(group, topics, limits, now_ms, sight)

Whoever serves a group calls this before it applies asks, and keeps the sight beside the group; the first
time it has none. Mostly there is nothing to look at, and the very same group and sight come back. A sight
is good for one group in one process, is never stored, and may be lost at any time.

A broker looks again when its own view of the topics has moved, and else only when others have changed the
group meanwhile and some time has passed. It does not hurry to correct what another broker wrote: views lag
behind each other for moments, and two brokers would change the topics back and forth.

Patterns are matched again when the view moved, but not more often than every 10 s, and every refresh
interval. Only names that were not there the last time are matched, as the others match as they did.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from dray.groups.consumer.epochs import bumped
from dray.groups.consumer.patterns import matching
from dray.groups.consumer.state import ConsumerGroup
from dray.groups.consumer.subscription import seen_topics, subscribed_topics
from dray.groups.limits import GroupLimits
from dray.groups.topics import TopicImage

_CALM_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Matched:
    """What patterns matched among the names of one version of the topics."""

    version: int
    at_ms: int
    names: frozenset[str]
    found: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Sight:
    """What was looked at, and when."""

    group: ConsumerGroup
    version: int | None
    """The version of the topics that the group agrees with; None if it did not."""
    at_ms: int
    matched: Matched | None
    """None if there were no patterns."""


def refresh(
    group: ConsumerGroup, topics: TopicImage, limits: GroupLimits, now_ms: int, last: Sight | None
) -> tuple[ConsumerGroup, Sight]:
    """Bring the group up to the topics as they are; the very same objects if there is nothing to do."""
    if last is not None and not _is_due(group, topics, limits, now_ms, last):
        return group, last
    matched = _rematched(group, topics, limits, now_ms, last.matched if last is not None else None)
    fresh = _compared(group, topics, matched, now_ms)
    # A group that changed may fail to be stored. Only a look that finds nothing to change is the last one.
    return fresh, Sight(fresh, topics.version if fresh is group else None, now_ms, matched)


def _is_due(group: ConsumerGroup, topics: TopicImage, limits: GroupLimits, now_ms: int, last: Sight) -> bool:
    if last.version != topics.version:
        return True
    if group is not last.group and now_ms - last.at_ms >= _CALM_MS:
        return True
    return bool(group.regexes) and _must_match(topics, limits, now_ms, last.matched)


def _must_match(topics: TopicImage, limits: GroupLimits, now_ms: int, last: Matched | None) -> bool:
    if last is None:
        return True
    passed_ms = now_ms - last.at_ms
    if last.version != topics.version:
        return passed_ms >= _CALM_MS
    return passed_ms >= limits.consumer_regex_refresh_interval_ms


def _rematched(
    group: ConsumerGroup, topics: TopicImage, limits: GroupLimits, now_ms: int, last: Matched | None
) -> Matched | None:
    if not group.regexes:
        return None
    if not _must_match(topics, limits, now_ms, last):
        return last
    names = frozenset(topics.names())
    found = {regex: _found(regex, names, last) for regex in group.regexes}
    return Matched(topics.version, now_ms, names, found)


def _found(regex: str, names: frozenset[str], last: Matched | None) -> tuple[str, ...]:
    if last is None or regex not in last.found:
        return matching(regex, names)
    still_there = names.intersection(last.found[regex])
    return tuple(sorted(still_there.union(matching(regex, names - last.names))))


def _compared(
    group: ConsumerGroup, topics: TopicImage, matched: Matched | None, now_ms: int
) -> ConsumerGroup:
    regexes = dict(group.regexes)
    if matched is not None and matched.version == topics.version:
        regexes |= {regex: found for regex, found in matched.found.items() if regex in regexes}
    fresh = replace(group, regexes=regexes) if regexes != group.regexes else group
    seen = seen_topics(subscribed_topics(fresh), topics)
    if fresh is group and seen == group.topics:
        return group
    return bumped(replace(fresh, topics=seen), now_ms)
