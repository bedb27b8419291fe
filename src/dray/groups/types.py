"""Error codes, member identities, topics and committed offsets, as groups see them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol, TypeAlias

from msgspec import Struct

TopicPartition: TypeAlias = tuple[str, int]


class GroupError(Enum):
    """Result of a command, under the names of Kafka's error codes; their numbers belong to `dray.wire`."""

    NONE = auto()
    COORDINATOR_NOT_AVAILABLE = auto()
    FENCED_INSTANCE_ID = auto()
    FENCED_MEMBER_EPOCH = auto()
    GROUP_ID_NOT_FOUND = auto()
    GROUP_MAX_SIZE_REACHED = auto()
    GROUP_SUBSCRIBED_TO_TOPIC = auto()
    ILLEGAL_GENERATION = auto()
    INCONSISTENT_GROUP_PROTOCOL = auto()
    INVALID_GROUP_ID = auto()
    INVALID_REGULAR_EXPRESSION = auto()
    INVALID_REQUEST = auto()
    INVALID_SESSION_TIMEOUT = auto()
    MEMBER_ID_REQUIRED = auto()
    NON_EMPTY_GROUP = auto()
    OFFSET_METADATA_TOO_LARGE = auto()
    REBALANCE_IN_PROGRESS = auto()
    STALE_MEMBER_EPOCH = auto()
    UNKNOWN_MEMBER_ID = auto()
    UNRELEASED_INSTANCE_ID = auto()
    UNSUPPORTED_ASSIGNOR = auto()
    UNSUPPORTED_VERSION = auto()


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic at one moment."""

    name: str
    topic_id: bytes
    partitions: int


class TopicsImage(Protocol):
    """All topics of the cluster, as one broker sees them at one moment."""

    @property
    def version(self) -> int:
        """Changes whenever a topic is created, grows or is deleted; only comparable within one process."""
        ...

    def find(self, name: str) -> TopicImage | None: ...

    def find_id(self, topic_id: bytes) -> TopicImage | None: ...

    def names(self) -> Iterable[str]: ...

    def is_visible(self, name: str, /) -> bool:
        """Return whether the client may find the topic by a regex."""
        ...


class CommittedOffset(Struct, frozen=True, array_like=True, tag="o1"):
    """The committed position of a group in one partition."""

    offset: int
    leader_epoch: int
    """That of the previous record; -1 if the client did not send it."""
    metadata: str
    committed_at_ms: int
    expires_at_ms: int | None
    """Set if the client sent a retention time; otherwise the group's retention applies."""
    topic_id: bytes
    """Id of the topic the offset was committed for; a later topic of the same name has another id."""


class Identified(Protocol):
    """A member, of either protocol, that may be static."""

    @property
    def instance_id(self) -> str | None: ...


def member_error(members: Mapping[str, Identified], member_id: str, instance_id: str | None) -> GroupError:
    """Check the identity that a client claims. Only a rejection scans all members."""
    member = members.get(member_id)
    if instance_id is not None and (member is None or member.instance_id != instance_id):
        is_known = any(one.instance_id == instance_id for one in members.values())
        return GroupError.FENCED_INSTANCE_ID if is_known else GroupError.UNKNOWN_MEMBER_ID
    return GroupError.UNKNOWN_MEMBER_ID if member is None else GroupError.NONE
