"""Identifiers: streams, domains, topics, WAL objects, bulk loads, Parquet files and principals.

A *stream* is what Kafka calls a topic-partition. A *meta domain* is the largest set of streams whose metadata
can change in one atomic commit; a stream's domain never changes, because the number of domains is fixed when
the cluster is created. A *domain* is the same thing for the metadata store: the scope of a commit, by name.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple, NewType
from zlib import crc32

StreamId = NewType("StreamId", int)
"""An unsigned 64-bit number, never reused in a cluster."""

MetaDomain = NewType("MetaDomain", int)
"""An unsigned 32-bit number below the cluster's count of meta domains."""

Domain = NewType("Domain", str)
"""The name of a domain of the metadata store: a commit touches the keys of one domain only."""

WalId = NewType("WalId", bytes)
"""Sixteen bytes: a UUID that identifies one WAL object."""

LoadId = NewType("LoadId", bytes)
"""Sixteen bytes: a UUID that identifies one bulk load."""

FileId = NewType("FileId", bytes)
"""Sixteen bytes: a UUID that identifies one Parquet file."""


class TopicRef(NamedTuple):
    """A topic by name and id; the id distinguishes it from earlier and later topics of the same name."""

    name: str
    topic_id: bytes


USER: Final = "User"
"""The type of all principals that Kafka has by default."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The identity that a client has proved; `text` is how ACLs name it: `User:alice`."""

    type: str
    name: str
    text: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if ":" in self.type:
            raise ValueError(f"the type of a principal must not contain a colon, got '{self.type}'")
        object.__setattr__(self, "text", f"{self.type}:{self.name}")

    def __str__(self) -> str:
        return self.text

    @classmethod
    def user(cls, name: str) -> "Principal":
        return cls(USER, name)

    @classmethod
    def parse(cls, text: str) -> "Principal":
        """Parse `type:name`, either of which may be empty; the name may contain colons."""
        kind, colon, name = text.partition(":")
        if not colon:
            raise ValueError(f"expected a principal such as User:alice, got '{text}'")
        return cls(kind, name)


ANONYMOUS: Final = Principal.user("ANONYMOUS")
"""A client of a listener that does not authenticate."""


def meta_domain(stream: StreamId, domains: int) -> MetaDomain:
    """Return the domain of `stream` in a cluster of `domains` domains."""
    return MetaDomain(crc32(stream.to_bytes(8, "big")) % domains)


def missing_partition(topic: str, partition: int, count: int) -> str:
    """Return the message for a partition that a topic with `count` partitions does not have."""
    existing = "0" if count == 1 else f"0 to {count - 1}"
    return f"topic '{topic}' has no partition {partition} (it has {existing})"
