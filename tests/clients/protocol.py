"""Protocol between the tests and the client programs: one JSON object per line.

A program wraps one client library in a common interface. It is started with the address of a broker, and
for TLS and SASL with the file of `tests.clients.security`. It reads requests from standard input, handles
them one after the other, writes responses to standard output, and exits at the end of its input. Logs go to
standard error. Every request gets one or more responses, of which the last is `done` or `failed`:

    {"do": "create_topic", "topic", "partitions", "configs": {name: text}}
    {"is": "done"}

    {"do": "describe_topic", "topic"}
    {"is": "done", "bounds": [[first, end], …]}

    {"do": "produce", "topic", "codec", "idempotent", "bytes_max", "transactional_id",
     "records": […]}
    {"is": "done", "placed": [[partition, offset], …]}

    {"do": "consume", "topic", "partitions", "start", "value", "count", "timeout_ms"}
    {"is": "ready"}, {"is": "record", "record"} …, {"is": "done"}

    {"do": "join", "topic", "group", "protocol", "session_ms", "heartbeat_ms"}
    {"is": "record", "record"} …, {"is": "committed", "offsets": [[partition, offset], …]} …
    {"do": "leave"}
    {"is": "done"}

    {"do": "load", "topic"}
    {"do": "leave"}
    {"is": "done", "placed": [[partition, offset], …]}

A setting that is null is left at the library's default. `bytes_max` is the largest request or batch, in
whichever settings the library has for it. With a `transactional_id` (Java, franz-go and librdkafka)
the records are written in one transaction. A record is `{"partition", "offset", "timestamp", "key",
"value", "headers": [[name, value], …]}` with bytes in base64 and null for missing fields; offsets are used
only in responses.

`start` is `earliest`, `latest`, `offset` or `timestamp`, the last two with a `value`. The library assigns
itself the partitions; only kafkajs, which cannot, uses a group of its own. `latest` is requested for
one partition at a time, and only then `ready` is sent, once the start offset is resolved. `failed` has the
library's `message`, and Kafka's error `code` if the error came from a broker.

`join` reads as a member of a group, from the beginning if no offset is committed. Sending a record means that
it was processed; its offset is committed soon after, and at the latest before the library revokes the
partition. `committed` is sent when the broker has confirmed a commit, with the committed offsets. The member
runs until the next line, which must be `leave`, or the end of the input; `done` is sent after it has left.

`load` (Java, franz-go and librdkafka) writes a record a millisecond to partition 0, with one producer, until
the next line, which must be `leave`.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Start = Literal["earliest", "latest", "offset", "timestamp"]
GroupProtocol = Literal["classic", "consumer"]


class Record(msgspec.Struct, frozen=True):
    """A record as written or as read."""

    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    partition: int = 0
    offset: int = -1


class CreateTopic(msgspec.Struct, frozen=True, tag_field="do", tag="create_topic"):
    topic: str
    partitions: int = 1
    configs: Mapping[str, str] = {}


class DescribeTopic(msgspec.Struct, frozen=True, tag_field="do", tag="describe_topic"):
    topic: str


class Produce(msgspec.Struct, frozen=True, tag_field="do", tag="produce"):
    topic: str
    records: Sequence[Record]
    codec: Codec | None = None
    idempotent: bool | None = None
    bytes_max: int | None = None
    transactional_id: str | None = None


class Consume(msgspec.Struct, frozen=True, tag_field="do", tag="consume"):
    topic: str
    count: int
    partitions: Sequence[int] = (0,)
    start: Start = "earliest"
    value: int = 0
    timeout_ms: int = 30_000


class Join(msgspec.Struct, frozen=True, tag_field="do", tag="join"):
    """The two timeouts apply to the classic protocol; in the consumer protocol they are the broker's."""

    topic: str
    group: str
    protocol: GroupProtocol = "classic"
    session_ms: int = 6_000
    heartbeat_ms: int = 500


class Load(msgspec.Struct, frozen=True, tag_field="do", tag="load"):
    topic: str


class Leave(msgspec.Struct, frozen=True, tag_field="do", tag="leave"):
    pass


class Ready(msgspec.Struct, frozen=True, tag_field="is", tag="ready"):
    pass


class Read(msgspec.Struct, frozen=True, tag_field="is", tag="record"):
    record: Record


class Committed(msgspec.Struct, frozen=True, tag_field="is", tag="committed"):
    offsets: Sequence[tuple[int, int]]


class Done(msgspec.Struct, frozen=True, tag_field="is", tag="done"):
    placed: Sequence[tuple[int, int]] = ()
    bounds: Sequence[tuple[int, int]] = ()


class Failed(msgspec.Struct, frozen=True, tag_field="is", tag="failed"):
    message: str
    code: int | None = None


Request = CreateTopic | DescribeTopic | Produce | Consume | Join | Load
Line = Request | Leave
Answer = Ready | Read | Committed | Done | Failed
