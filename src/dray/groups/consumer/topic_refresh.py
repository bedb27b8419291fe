"""Topic refresh: how a group follows changes of the cluster's topics without a scan in every heartbeat.

    group, last = refresh(group, topics, limits, now_ms, last)

The host calls this before it applies commands, and keeps `last` beside the group; it is None the first time.
Usually nothing has to be looked at, and the very same objects are returned. A `LastRefresh` belongs to one
group in one process, is never stored, and may be lost at any time.

A broker looks again when its own image of the topics has changed; otherwise only if others have changed the
group since and some time has passed. It does not correct another broker's write at once: images briefly
differ, and two brokers could keep overwriting each other.

Regexes are evaluated again when the image has changed, at most every 10 s, and every refresh interval. Only
names that are new since the last evaluation are matched; the results for the others cannot have changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from dray.groups.consumer.regexes import matching_names
from dray.groups.consumer.state import ConsumerGroup, bump_epoch
from dray.groups.consumer.subscription import subscribed_topics, topics_by_name
from dray.groups.limits import GroupLimits
from dray.groups.types import TopicsImage

_BACKOFF_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class RegexMatches:
    """The names that regexes matched in one version of the topics."""

    topics_version: int
    at_ms: int
    names: frozenset[str]
    found: Mapping[str, tuple[str, ...]]
    visible: Mapping[str, tuple[str, ...]]
    """Of those, the names that the client which had them evaluated may find, as in Kafka."""


@dataclass(frozen=True, slots=True)
class LastRefresh:
    """What the last refresh looked at, and when."""

    group: ConsumerGroup
    topics_version: int | None
    """The version of the topics that the group agrees with; None if it did not."""
    at_ms: int
    matches: RegexMatches | None
    """None if there were no regexes."""


def refresh(
    group: ConsumerGroup, topics: TopicsImage, limits: GroupLimits, now_ms: int, last: LastRefresh | None
) -> tuple[ConsumerGroup, LastRefresh]:
    """Bring the group up to date with the topics; the very same objects if nothing has to be done."""
    if last is not None and not _is_due(group, topics, limits, now_ms, last):
        return group, last
    matches = _evaluated(group, topics, limits, now_ms, last.matches if last is not None else None)
    fresh = _refreshed(group, topics, matches, now_ms)
    # Storing the changed group may fail. Only a refresh that finds nothing to change counts as done.
    return fresh, LastRefresh(fresh, topics.version if fresh is group else None, now_ms, matches)


def _is_due(
    group: ConsumerGroup, topics: TopicsImage, limits: GroupLimits, now_ms: int, last: LastRefresh
) -> bool:
    if last.topics_version != topics.version:
        return True
    if group is not last.group and now_ms - last.at_ms >= _BACKOFF_MS:
        return True
    return bool(group.regexes) and _must_evaluate(topics, limits, now_ms, last.matches)


def _must_evaluate(topics: TopicsImage, limits: GroupLimits, now_ms: int, last: RegexMatches | None) -> bool:
    if last is None:
        return True
    passed_ms = now_ms - last.at_ms
    if last.topics_version != topics.version:
        return passed_ms >= _BACKOFF_MS
    return passed_ms >= limits.consumer_regex_refresh_interval_ms


def _evaluated(
    group: ConsumerGroup, topics: TopicsImage, limits: GroupLimits, now_ms: int, last: RegexMatches | None
) -> RegexMatches | None:
    if not group.regexes:
        return None
    if not _must_evaluate(topics, limits, now_ms, last):
        return last
    names = frozenset(topics.names())
    found = {regex: _matches(regex, names, last) for regex in group.regexes}
    visible = {regex: tuple(filter(topics.is_visible, matched)) for regex, matched in found.items()}
    return RegexMatches(topics.version, now_ms, names, found, visible)


def _matches(regex: str, names: frozenset[str], last: RegexMatches | None) -> tuple[str, ...]:
    if last is None or regex not in last.found:
        return matching_names(regex, names)
    remaining = names.intersection(last.found[regex])
    return tuple(sorted(remaining.union(matching_names(regex, names - last.names))))


def _refreshed(
    group: ConsumerGroup, topics: TopicsImage, matches: RegexMatches | None, now_ms: int
) -> ConsumerGroup:
    regexes = dict(group.regexes)
    if matches is not None and matches.topics_version == topics.version:
        regexes |= {regex: names for regex, names in matches.visible.items() if regex in regexes}
    fresh = replace(group, regexes=regexes) if regexes != group.regexes else group
    current = topics_by_name(subscribed_topics(fresh), topics)
    if fresh is group and current == group.topics:
        return group
    return bump_epoch(replace(fresh, topics=current), now_ms)
