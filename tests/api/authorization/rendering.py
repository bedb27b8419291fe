"""Responses as text: a line for each struct, with the fields that differ from their defaults.

What a broker makes up (ids, ports, offsets) becomes a word, so that responses of two brokers are comparable.
Configs and the versions of APIs are left out; other tests compare them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from dray.wire import ErrorCode, Message

Answer = tuple[str, ...]
SEPARATOR: Final = "  "
_KEYS: Final = (
    "name",
    "topic",
    "topic_id",
    "group_id",
    "resource_name",
    "partition_index",
    "index",
    "partition",
    "key",
    "user",
    "principal",
)
_UNSHOWN: Final = {
    "throttle_time_ms",
    "api_keys",
    "supported_features",
    "finalized_features",
    "finalized_features_epoch",
    "node_endpoints",
    "brokers",
    "current_leader",
    "aborted_transactions",
    "committed_leader_epoch",
    "log_dirs",
    "total_bytes",
    "usable_bytes",
}
_COUNTED: Final = {"configs", "partitions_of_topic", "synonyms"}
_OWN: Final = {
    "cluster_id",
    "controller_id",
    "host",
    "port",
    "member_id",
    "log_dir",
    "partition_size",
    "producer_epoch",
    "producer_id",
    "base_offset",
    "high_watermark",
    "last_stable_offset",
    "low_watermark",
    "offset",
    "records",
    "log_append_time_ms",
    "node_id",
    "leader_id",
    "leader_epoch",
    "replica_nodes",
    "isr_nodes",
    "eligible_leader_replicas",
    "group_epoch",
    "assignment_epoch",
    "member_epoch",
    "client_id",
    "client_host",
    "subscribed_topic_names",
    "end_offset",
    "last_timestamp",
    "timestamp",
}
_DUMP: Final = re.compile(r"Request\(.*\)")
"""Kafka's text of a whole request, in some messages."""
_HIDDEN: Final = "__"
"""Topics of Kafka's coordinators."""


def rendered(response: Message, topic_name: Callable[[bytes], str]) -> Answer:
    """Return the lines of a response; items of lists that have a name are sorted."""
    return tuple(_lines(response, "", topic_name))


def _lines(message: Message, path: str, topic_name: Callable[[bytes], str]) -> Iterator[str]:
    defaults = type(message)()
    plain: list[str] = []
    below: list[str] = []
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if name in _UNSHOWN or (value == getattr(defaults, name) and name not in _KEYS):
            continue
        inner = f"{path}.{name}" if path else name
        if isinstance(value, Message):
            below += _lines(value, inner, topic_name)
        elif isinstance(value, list) and value and isinstance(value[0], Message) and name not in _COUNTED:
            below += _items(value, inner, topic_name)
        elif name not in _KEYS or not path:
            plain.append(f"{name}={_text(name, value, topic_name)}")
    if plain or not below:
        yield SEPARATOR.join((path or "-", *plain))
    yield from below


def _items(items: Sequence[Message], path: str, topic_name: Callable[[bytes], str]) -> list[str]:
    shown: list[tuple[str, Message]] = []
    for position, item in enumerate(items):
        key = _key(item, topic_name)
        if key is None or not key.startswith(_HIDDEN):
            shown.append((key if key is not None else str(position), item))
    shown.sort(key=lambda one: one[0])
    return [line for key, item in shown for line in _lines(item, f"{path}[{key}]", topic_name)]


def _key(item: Message, topic_name: Callable[[bytes], str]) -> str | None:
    keys = [
        _text(name, getattr(item, name), topic_name).strip('"')
        for name in _KEYS
        if hasattr(item, name) and (getattr(item, name) not in (None, "", bytes(16)))
    ]
    return " ".join(keys) or None


def _text(name: str, value: Any, topic_name: Callable[[bytes], str]) -> str:
    if name == "error_code" or name.endswith("_error_code"):
        return ErrorCode(value).name
    if name == "topic_id":
        return f"id of {topic_name(bytes(value))}"
    if name in _COUNTED:
        return "some" if value else "none"
    if name in _OWN and value not in (-1, "", None, []):
        return "some"
    return _plain(value)


def _plain(value: Any) -> str:
    match value:
        case bytes() | bytearray() | memoryview():
            return f"0x{bytes(value).hex()}"
        case list():
            return f"[{', '.join(sorted(map(str, value)))}]"
        case str():
            return f'"{_DUMP.sub("…", value)}"'
    return str(value)
