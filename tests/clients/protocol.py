"""What the tests and the client programmes say to each other: one JSON object per line.

A programme is one client library behind a common face. It is started with the address of a broker, reads
requests from standard input, does them one after the other, writes answers to standard output, and ends
when its input does. What else it has to say goes to standard error. Every request gets answers, of which
the last is `done` or `failed`:

    {"do": "create_topic", "topic", "partitions", "configs": {name: text}}
    {"is": "done"}

    {"do": "describe_topic", "topic"}
    {"is": "done", "bounds": [[first, end], …]}

    {"do": "produce", "topic", "codec", "idempotent", "bytes_max", "records": […]}
    {"is": "done", "placed": [[partition, offset], …]}

    {"do": "consume", "topic", "partitions", "start", "value", "count", "timeout_ms"}
    {"is": "ready"}, {"is": "record", "record"} …, {"is": "done"}

    {"do": "join", "topic", "group", "protocol", "session_ms", "heartbeat_ms"}
    {"is": "record", "record"} …, {"is": "committed", "offsets": [[partition, offset], …]} …
    {"do": "leave"}
    {"is": "done"}

A setting that is null is not set: the library's default counts. `bytes_max` is the largest request or batch,
set under whatever names the library has for it. A record is `{"partition", "offset", "timestamp", "key",
"value", "headers": [[name, value], …]}` with bytes in base64 and null for what is not there; offsets count
only in answers.

`start` is `earliest`, `latest`, `offset` or `timestamp`, the last two with a `value`. The library assigns
itself the partitions; only kafkajs, which cannot, uses a group of its own. `latest` is asked for one
partition at a time, and `ready` is said only for it, once it is settled which records are new. `failed`
carries the library's `message`, and Kafka's error `code` if it was a broker that said no.

`join` reads as a member of a group, from the beginning where nothing is committed. To say a record is to
have processed it; what was processed is committed soon after, and at the latest before the library gives the
partition away. `committed` is said when the broker has confirmed it, with the offsets to go on from. It goes
on until the next line comes, which must be `leave`, or the input ends; `done` is said by one that has left.
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


class Consume(msgspec.Struct, frozen=True, tag_field="do", tag="consume"):
    topic: str
    count: int
    partitions: Sequence[int] = (0,)
    start: Start = "earliest"
    value: int = 0
    timeout_ms: int = 30_000


class Join(msgspec.Struct, frozen=True, tag_field="do", tag="join"):
    """The two times count for the classic protocol; in the other they are the broker's."""

    topic: str
    group: str
    protocol: GroupProtocol = "classic"
    session_ms: int = 6_000
    heartbeat_ms: int = 500


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


Request = CreateTopic | DescribeTopic | Produce | Consume | Join
Line = Request | Leave
Answer = Ready | Read | Committed | Done | Failed
