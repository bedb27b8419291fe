"""What the benchmark asks of its librdkafka client, and what that answers: JSON, one line each.

Instants are nanoseconds of the machine's monotonic clock, which is one clock for all its processes.
"""

import msgspec


class Order(msgspec.Struct, frozen=True, tag_field="do"):
    """What every order says."""

    bootstrap: str
    topic: str


class MakeTopic(Order, frozen=True, tag="make-topic"):
    """Make the topic, and wait until it can be written to."""

    partitions: int


class Produce(Order, frozen=True, tag="produce"):
    """Write `records` of `size` bytes as fast as they are taken."""

    size: int
    records: int


class ProduceText(Order, frozen=True, tag="produce-text"):
    """Write `records` of words, each another one, to the partitions in turn, compressed by the client."""

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
    """Write `records` of `size` bytes, `rate` in a second, each carrying the instant it was due."""

    size: int
    records: int
    rate: int


class Follow(Order, frozen=True, tag="follow"):
    """Read what `PacedProduce` writes; says `READY` when it waits at the end of every partition."""

    partitions: int
    records: int


class FirstRecord(Order, frozen=True, tag="first-record"):
    """Write one record to a server that may not be there yet; says `READY` before it tries."""


AnyOrder = MakeTopic | DeleteTopic | Produce | ProduceText | Fetch | PacedProduce | Follow | FirstRecord

READY = "ready"


class Done(msgspec.Struct, frozen=True):
    """What came of an order: how long it took, what it cost the client, and the latencies it saw."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    latencies_ms: list[float] = []
    acknowledged_ns: int = 0
