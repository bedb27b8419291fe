"""Topics as groups see them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TopicSeen:
    """A topic at one moment."""

    name: str
    topic_id: bytes
    partitions: int


class TopicImage(Protocol):
    """All topics at one moment."""

    @property
    def version(self) -> int:
        """Another number whenever a topic was made, grown or deleted; only good within one process."""
        ...

    def find(self, name: str) -> TopicSeen | None: ...

    def find_id(self, topic_id: bytes) -> TopicSeen | None: ...

    def names(self) -> Iterable[str]: ...
