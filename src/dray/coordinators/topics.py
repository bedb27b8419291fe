"""Topics of the cluster, as groups need them: an image for the machines, and matching of new regexes.

The group machine matches a regex against all topic names in one go, and a regex built to be slow takes some
10 ms for each: the event loop would stall. So the names are matched ahead of the heartbeat that brings a new
regex, in slices between which other tasks run; the machine then finds all results in the regex's
`NameMatcher`. No honest regex takes longer than `_TIMEOUT_S`, not even for a hundred thousand topics;
one that does is rejected.
"""

from collections.abc import Callable, Iterable
from typing import Final

from dray.cluster.topics import Topic, TopicCatalog
from dray.groups.consumer.regexes import InvalidRegex, name_matcher
from dray.groups.types import TopicImage, TopicsImage
from dray.runtime import Clock

_SLICE_S: Final = 0.002
_TIMEOUT_S: Final = 1.0


class BrokerTopicsImage:
    """A `TopicsImage` of the topics that this broker knows now."""

    def __init__(self, topics: TopicCatalog) -> None:
        self._topics = topics

    @property
    def version(self) -> int:
        return self._topics.version

    def find(self, name: str) -> TopicImage | None:
        return _image(self._topics.find(name))

    def find_id(self, topic_id: bytes) -> TopicImage | None:
        return _image(self._topics.find_id(topic_id))

    def names(self) -> Iterable[str]:
        return (topic.name for topic in self._topics.all())

    def is_visible(self, _: str) -> bool:
        return True


class DescribableTopics:
    """An image in which regexes match only the topics that a client may describe."""

    def __init__(self, topics: TopicsImage, may_describe: Callable[[str], bool]) -> None:
        self._topics = topics
        self._may_describe = may_describe

    @property
    def version(self) -> int:
        return self._topics.version

    def find(self, name: str) -> TopicImage | None:
        return self._topics.find(name)

    def find_id(self, topic_id: bytes) -> TopicImage | None:
        return self._topics.find_id(topic_id)

    def names(self) -> Iterable[str]:
        return self._topics.names()

    def is_visible(self, name: str) -> bool:
        return self._may_describe(name)


def _image(topic: Topic | None) -> TopicImage | None:
    return None if topic is None else TopicImage(topic.name, topic.topic_id, len(topic.streams))


class RegexTooSlow(Exception):
    """Matching the regex takes too long."""


async def prematch(regex: str, names: Iterable[str], clock: Clock) -> None:
    """Match names; raises `RegexTooSlow`. An invalid regex is left for the machine to reject."""
    try:
        matches = name_matcher(regex).matches
    except InvalidRegex:
        return
    spent, began = 0.0, clock.monotonic()
    for name in tuple(names):
        matches(name)
        passed = clock.monotonic() - began
        if spent + passed > _TIMEOUT_S:
            raise RegexTooSlow(f"it takes more than {_TIMEOUT_S:g} s to match the topics there are")
        if passed > _SLICE_S:
            await clock.sleep(0)
            spent, began = spent + passed, clock.monotonic()
