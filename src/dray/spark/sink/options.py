"""Options of a write, parsed once on the driver. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dray.records import Codec
from dray.spark.errors import InvalidOption
from dray.spark.options import boolean, integer, known_options, size, topic_option

_HOUR_MS: Final = 3_600_000
_OBJECT_BYTES: Final = 32 << 20
_OBJECT_BYTES_MIN, _OBJECT_BYTES_MAX = 1 << 20, 256 << 20
_PARTITIONS_MAX: Final = 10_000
_NAMES: Final = ("topic", "compression", "createTopic", "partitions", "objectBytes", "loadHours")
_CODECS: Final = {
    "none": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The topic, and how to write to it."""

    topic: str
    codec: Codec | None = None
    """None: the topic's."""
    new_partitions: int | None = None
    """Create the topic with this many partitions if it does not exist."""
    object_bytes: int = _OBJECT_BYTES
    """Bytes of rows that a task collects per object."""
    keep_ms: int = 72 * _HOUR_MS
    """How long the load may take."""


def read_options(options: Mapping[str, str]) -> WriteOptions:
    """Parse the options; raises `InvalidOption`."""
    given = known_options(options, _NAMES, "writer")
    return WriteOptions(
        topic=topic_option(given, "save"),
        codec=_codec(given.get("compression")),
        new_partitions=_new_partitions(given),
        object_bytes=_object_bytes(given.get("objectBytes")),
        keep_ms=integer("loadHours", given.get("loadHours", "72"), 24 * 365) * _HOUR_MS,
    )


def _codec(text: str | None) -> Codec | None:
    if text is None:
        return None
    codec = _CODECS.get(text.strip().lower())
    if codec is None:
        raise InvalidOption(f"compression is {text[:80]!r}; expected one of {', '.join(_CODECS)}")
    return codec


def _new_partitions(given: Mapping[str, str]) -> int | None:
    if not boolean("createTopic", given.get("createTopic", "false")):
        return None
    if "partitions" not in given:
        raise InvalidOption('createTopic needs a number of partitions: .option("partitions", "12")')
    return integer("partitions", given["partitions"], _PARTITIONS_MAX)


def _object_bytes(text: str | None) -> int:
    found = _OBJECT_BYTES if text is None else size("objectBytes", text)
    if not _OBJECT_BYTES_MIN <= found <= _OBJECT_BYTES_MAX:
        raise InvalidOption(f"objectBytes is {text!r}; expected a size from 1MiB to 256MiB")
    return found
