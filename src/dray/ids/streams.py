"""Streams and the meta domains they belong to.

A *stream* is what Kafka calls a topic-partition. A *meta domain* is the largest set of streams
whose metadata can change in one atomic commit; a stream's domain never changes, because the
number of domains is fixed when the cluster is made.
"""

from typing import NewType
from zlib import crc32

StreamId = NewType("StreamId", int)
"""An unsigned 64-bit number, unique in a cluster for ever."""

MetaDomain = NewType("MetaDomain", int)
"""An unsigned 32-bit number below the cluster's count of meta domains."""


def meta_domain(stream: StreamId, domains: int) -> MetaDomain:
    """Return the domain of `stream` in a cluster of `domains` domains."""
    return MetaDomain(crc32(stream.to_bytes(8, "big")) % domains)
