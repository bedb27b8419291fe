"""The options of a write, read once on the driver. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dray.pipeline.spark.sink.errors import CannotWrite
from dray.records import Codec

_HOUR_MS: Final = 3_600_000
_OBJECT_BYTES: Final = 32 << 20
_OBJECT_BYTES_MIN, _OBJECT_BYTES_MAX = 1 << 20, 256 << 20
_PARTITIONS_MAX: Final = 10_000
_NAMES: Final = ("topic", "path", "compression", "createTopic", "partitions", "objectBytes", "loadHours")
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
    """Return the options; raises `CannotWrite`."""
    told = {name.lower(): text for name, text in given.items()}
    known = {name.lower() for name in _NAMES}
    unknown = [name for name in given if name.lower() not in known]
    if unknown:
        raise CannotWrite(f"no option of a write is called {unknown[0]}; there are {', '.join(_NAMES)}")
    topic = told.get("topic") or told.get("path")
    if not topic:
        raise CannotWrite('name the topic: .option("topic", "...") or .save("...")')
    return WriteOptions(
        topic=topic,
        codec=_codec(told.get("compression")),
        new_partitions=_new_partitions(told),
        object_bytes=_whole(told, "objectBytes", _OBJECT_BYTES, _OBJECT_BYTES_MIN, _OBJECT_BYTES_MAX),
        keep_ms=_whole(told, "loadHours", 72, 1, 24 * 365) * _HOUR_MS,
    )


def _codec(text: str | None) -> Codec | None:
    if text is None:
        return None
    codec = _CODECS.get(text.strip().lower())
    if codec is None:
        raise CannotWrite(f"compression is one of {', '.join(_CODECS)}, not {text!r}")
    return codec


def _new_partitions(told: Mapping[str, str]) -> int | None:
    create = told.get("createtopic", "false").strip().lower()
    if create not in ("true", "false"):
        raise CannotWrite(f"createTopic is true or false, not {create!r}")
    if create == "false":
        return None
    if "partitions" not in told:
        raise CannotWrite('createTopic needs a number of partitions: .option("partitions", "12")')
    return _whole(told, "partitions", 1, 1, _PARTITIONS_MAX)


def _whole(told: Mapping[str, str], name: str, usual: int, low: int, high: int) -> int:
    text = told.get(name.lower(), str(usual)).strip()
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise CannotWrite(f"{name} is a whole number from {low} to {high}, not {text!r}")
    return int(text)
