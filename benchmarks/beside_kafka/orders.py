"""Orders to the librdkafka client process and their results: JSON, one line each.

Instants are nanoseconds of the monotonic clock, which all processes of a machine share.
"""

import msgspec


class _Secured(msgspec.Struct, frozen=True, kw_only=True):
    """How the client connects."""

    security: dict[str, str] = {}
    """Settings of librdkafka."""


class Order(_Secured, frozen=True, tag_field="do"):
    """Fields of every order."""

    bootstrap: str
    topic: str


class MakeTopic(Order, frozen=True, tag="make-topic"):
    """Create the topic, and wait until it is writable."""

    partitions: int


class Produce(Order, frozen=True, tag="produce"):
    """Write `records` of `size` bytes as fast as possible: record by record to the first `partitions`
    partitions in turn, or with 0 as librdkafka chooses.
    """

    size: int
    records: int
    partitions: int = 0


class ProduceText(Order, frozen=True, tag="produce-text"):
    """Write `records` of words, all different, round-robin to the partitions, compressed by the client."""

    partitions: int
    size: int
    records: int
    codec: str


class DeleteTopic(Order, frozen=True, tag="delete-topic"):
    """Delete the topic."""


class Fetch(Order, frozen=True, tag="fetch"):
    """Read `records` of `size` bytes from the beginning of all partitions, without a group."""

    partitions: int
    size: int
    records: int


class PacedProduce(Order, frozen=True, tag="paced-produce"):
    """Write `records` of `size` bytes, `rate` per second, each containing the instant it was due."""

    size: int
    records: int
    rate: int


class Follow(Order, frozen=True, tag="follow"):
    """Read what `PacedProduce` writes; prints `READY` at the end of every partition."""

    partitions: int
    records: int


class FirstRecord(Order, frozen=True, tag="first-record"):
    """Write one record to a server that may not be up yet; prints `READY` before it tries."""


AnyOrder = MakeTopic | DeleteTopic | Produce | ProduceText | Fetch | PacedProduce | Follow | FirstRecord

READY = "ready"


class Done(msgspec.Struct, frozen=True):
    """Result of an order: time, the client's CPU time, and latencies."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    latencies_ms: list[float] = []
    acknowledged_ns: int = 0
