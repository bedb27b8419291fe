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

A setting that is null is not set: the library's default counts. `bytes_max` is the largest request or batch,
set under whatever names the library has for it. A record is `{"partition", "offset", "timestamp", "key",
"value", "headers": [[name, value], …]}` with bytes in base64 and null for what is not there; offsets count
only in answers.

`start` is `earliest`, `latest`, `offset` or `timestamp`, the last two with a `value`. The library assigns
itself the partitions; no group is used. `latest` is asked for one partition at a time, and `ready` is said
only for it, once it is settled which records are new. `failed` carries the library's `message`, and Kafka's
error `code` if it was a broker that said no.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Start = Literal["earliest", "latest", "offset", "timestamp"]


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


class Ready(msgspec.Struct, frozen=True, tag_field="is", tag="ready"):
    pass


class Read(msgspec.Struct, frozen=True, tag_field="is", tag="record"):
    record: Record


class Done(msgspec.Struct, frozen=True, tag_field="is", tag="done"):
    placed: Sequence[tuple[int, int]] = ()
    bounds: Sequence[tuple[int, int]] = ()


class Failed(msgspec.Struct, frozen=True, tag_field="is", tag="failed"):
    message: str
    code: int | None = None


Request = CreateTopic | DescribeTopic | Produce | Consume
Answer = Ready | Read | Done | Failed
