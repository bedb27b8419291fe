"""Dependencies of a check, its progress, and the topics that streams belong to."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from dray.ids import MetaDomain, StreamId, TopicRef
from dray.log import LogSettings
from dray.meta.port import MetaStore
from dray.objects.port import ObjectStore
from dray.runtime import Clock

_MINUTE_MS: Final = 60_000


@dataclass(slots=True)
class Progress:
    """Numbers of what was checked so far; `stage` is the current step."""

    stage: str = ""
    streams: int = 0
    entries: int = 0
    objects: int = 0
    tables: int = 0
    read_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CheckDeps:
    """Dependencies and limits of a check."""

    meta: MetaStore
    objects: ObjectStore
    domains: int
    clock: Clock
    settings: LogSettings
    deep: bool = False
    """Read all objects and verify their checksums."""
    objects_at_once: int = 200_000
    """Records of objects held in memory; more are checked in several passes over the index and the bucket."""
    keys_at_once: int = 256
    """Keys read by one scan of the metadata store."""
    overdue_ms: int = 15 * _MINUTE_MS
    """How long after it was due a deletion counts as overdue."""
    stuck_ms: int = 60 * _MINUTE_MS
    """How long an unfinished compaction job may stay unchanged."""
    pause_s: float = 5.0
    """Time between the two examinations of what changes in several steps, such as topic creation."""
    progress: Progress = field(default_factory=Progress)
    report: Callable[[], None] = lambda: None
    """Called when the progress has changed."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The partition that a stream belongs to."""

    topic: TopicRef
    partition: int


@dataclass(slots=True)
class Owners:
    """The streams of all topics, and those of topics that are being created or deleted."""

    of: dict[StreamId, Owner] = field(default_factory=dict)
    changing: frozenset[StreamId] = frozenset()
    are_complete: bool = True
    """Whether every topic's record could be decoded."""

    def know(self, stream: StreamId) -> bool:
        """Return whether the stream has or had a topic, or is being created for one."""
        return stream in self.of or stream in self.changing or not self.are_complete


@dataclass(slots=True)
class DomainState:
    """State of the check of one domain, from one pass to the next."""

    domain: MetaDomain
    has_gaps: bool = False
    """Whether entries may be missing, contradict each other or their head, or cannot be decoded, so that
    references cannot be counted reliably.

    They may be where a stream has no head: only a head says which entries there must be.
    """
    may_have_unreferenced: bool = False
    """Whether objects may hold records that no entry points to."""
