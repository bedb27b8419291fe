"""The options of a write, read once on the driver. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dray.pipeline.spark.options import OptionWrong, known_options, size, switch, topic_option, whole
from dray.records import Codec

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
    """How a frame is to be written."""

    topic: str
    codec: Codec | None = None
    """None: as the topic says."""
    new_partitions: int | None = None
    """Make the topic with so many if it is not there."""
    object_bytes: int = _OBJECT_BYTES
    """How many bytes of rows a task gathers before it writes them."""
    keep_ms: int = 72 * _HOUR_MS
    """How long the load may take."""


def read_options(given: Mapping[str, str]) -> WriteOptions:
    """Return the options; raises `OptionWrong`."""
    told = known_options(given, _NAMES, "writer")
    return WriteOptions(
        topic=topic_option(told, "save"),
        codec=_codec(told.get("compression")),
        new_partitions=_new_partitions(told),
        object_bytes=_object_bytes(told.get("objectBytes")),
        keep_ms=whole("loadHours", told.get("loadHours", "72"), 24 * 365) * _HOUR_MS,
    )


def _codec(text: str | None) -> Codec | None:
    if text is None:
        return None
    codec = _CODECS.get(text.strip().lower())
    if codec is None:
        raise OptionWrong(f"compression is {text[:80]!r}; expected one of {', '.join(_CODECS)}")
    return codec


def _new_partitions(told: Mapping[str, str]) -> int | None:
    if not switch("createTopic", told.get("createTopic", "false")):
        return None
    if "partitions" not in told:
        raise OptionWrong('createTopic needs a number of partitions: .option("partitions", "12")')
    return whole("partitions", told["partitions"], _PARTITIONS_MAX)


def _object_bytes(text: str | None) -> int:
    found = _OBJECT_BYTES if text is None else size("objectBytes", text)
    if not _OBJECT_BYTES_MIN <= found <= _OBJECT_BYTES_MAX:
        raise OptionWrong(f"objectBytes is {text!r}; expected a size from 1MiB to 256MiB")
    return found
