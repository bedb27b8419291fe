"""The options of a reader: their names, what they may be, and how they go together. Pure.

Spark's option names do not tell capital letters from small ones, so neither does this; every message names
an option the way the documentation does. Options that name the cluster have been taken out before.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeVar

from dray.cluster.topic_names import is_valid_name
from dray.pipeline.spark.source.errors import OptionWrong
from dray.pipeline.spark.source.positions import (
    AtOffset,
    AtTime,
    Earliest,
    Latest,
    Position,
    Positions,
    read_offsets,
    read_time,
)

T = TypeVar("T")

NAMES: Final = (
    "topic",
    "partitions",
    "startingOffsets",
    "startingTimestamp",
    "endingOffsets",
    "endingTimestamp",
    "failOnDataLoss",
    "maxPartitionBytes",
    "minPartitions",
    "maxRecordsPerTrigger",
)
CLUSTER_NAMES: Final = ("config", "data_dir", "metadata", "storage")
"""Options that name the cluster; whoever puts the process together reads them."""
_PATH: Final = "path"
"""What Spark calls the argument of `load`."""
_PARTITIONS_MAX: Final = 100_000
_UNITS: Final = {
    "": 1,
    "b": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What is to be read, and in which portions."""

    topic: str
    partitions: tuple[int, ...] | None
    """In ascending order; None is all there are."""
    start: Positions
    end: Positions
    fail_on_data_loss: bool = True
    partition_bytes_max: int = 32 << 20
    partitions_min: int | None = None
    """None is as many as the driver's machine has cores; how many the executors have, Spark does not tell."""
    records_per_trigger_max: int | None = None


def batch_options(options: Mapping[str, str]) -> ReadOptions:
    """Read the options of `spark.read`; raises `OptionWrong`."""
    given = _known(options)
    if "maxRecordsPerTrigger" in given:
        raise OptionWrong("maxRecordsPerTrigger is for readStream; give read an end by endingOffsets")
    read = _options(given, start=Earliest())
    _refuse(read.start, Latest(), "startingOffsets cannot be the latest: there would be nothing to read")
    _refuse(read.end, Earliest(), "endingOffsets cannot be the earliest: there would be nothing to read")
    _check_order(read)
    return read


def stream_options(options: Mapping[str, str], *, limits: bool) -> ReadOptions:
    """Read the options of `spark.readStream`; `limits` says whether this Spark can bound a trigger."""
    given = _known(options)
    for name in ("endingOffsets", "endingTimestamp"):
        if name in given:
            raise OptionWrong(f"{name} is for read; a stream has no end")
    if "maxRecordsPerTrigger" in given and not limits:
        raise OptionWrong(
            "maxRecordsPerTrigger needs Spark 4.2 or later: before that, Spark cannot ask a Python source "
            "for a part of what is there"
        )
    return _options(given, start=Latest())


def suggestion(name: str, names: tuple[str, ...]) -> str:
    """Return `; did you mean …?` or nothing."""
    by_lower = {one.lower(): one for one in names}
    close = get_close_matches(name.lower()[:80], by_lower, n=1)
    return f"; did you mean {by_lower[close[0]]}?" if close else ""


def _known(options: Mapping[str, str]) -> dict[str, str]:
    names = {name.lower(): name for name in NAMES} | {_PATH: _PATH}
    given: dict[str, str] = {}
    for key, text in options.items():
        name = names.get(key.lower())
        if name is None:
            raise OptionWrong(
                f"{key[:80]!r} is no option of the reader{suggestion(key, NAMES + CLUSTER_NAMES)}; "
                f"there are {', '.join(NAMES + CLUSTER_NAMES)}, and any SECTION.KEY of the settings"
            )
        given[name] = text
    return given


def _options(given: Mapping[str, str], *, start: Position) -> ReadOptions:
    topic = _topic(given)
    partitions = given.get("partitions")
    tasks, triggered = given.get("minPartitions"), given.get("maxRecordsPerTrigger")
    return ReadOptions(
        topic=topic,
        partitions=None if partitions is None else _partitions(partitions),
        start=_positions(given, "starting", topic) or Positions(start),
        end=_positions(given, "ending", topic) or Positions(Latest()),
        fail_on_data_loss=_switch("failOnDataLoss", given.get("failOnDataLoss", "true")),
        partition_bytes_max=_bytes("maxPartitionBytes", given.get("maxPartitionBytes", "32MiB")),
        partitions_min=None if tasks is None else _whole("minPartitions", tasks),
        records_per_trigger_max=None if triggered is None else _whole("maxRecordsPerTrigger", triggered),
    )


def _topic(given: Mapping[str, str]) -> str:
    topic, path = given.get("topic"), given.get(_PATH)
    if topic is not None and path is not None and topic != path:
        raise OptionWrong(
            f"the option topic says {topic[:80]!r}, and load says {path[:80]!r}; give one of them"
        )
    found = topic if topic is not None else path
    if found is None:
        raise OptionWrong('no topic is given; write .option("topic", "NAME"), or .load("NAME")')
    if not is_valid_name(found):
        raise OptionWrong(
            f"{found[:80]!r} is not the name of a topic; one has 1 to 249 letters, digits, '.', '_' or '-'"
        )
    return found


def _positions(given: Mapping[str, str], end: str, topic: str) -> Positions | None:
    offsets, time = f"{end}Offsets", f"{end}Timestamp"
    if offsets in given and time in given:
        raise OptionWrong(f"{offsets} and {time} are both given; give one of them")
    if offsets in given:
        return read_offsets(offsets, given[offsets], topic)
    return read_time(time, given[time]) if time in given else None


def _partitions(text: str) -> tuple[int, ...]:
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last - first >= _PARTITIONS_MAX:
            raise OptionWrong(f"partitions is {text[:80]!r}; expected numbers and ranges such as 0,2,5-7")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def _switch(name: str, text: str) -> bool:
    if text.strip().lower() not in {"true", "false"}:
        raise OptionWrong(f"{name} is {text[:80]!r}; expected true or false")
    return text.strip().lower() == "true"


def _whole(name: str, text: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,15}\s*", text) or int(text) < 1:
        raise OptionWrong(f"{name} is {text[:80]!r}; expected a whole number, at least 1")
    return int(text)


def _bytes(name: str, text: str) -> int:
    match = re.fullmatch(r"\s*([0-9]{1,15})\s*([A-Za-z]{0,3})\s*", text)
    unit = None if match is None else _UNITS.get(match[2].lower())
    if match is None or unit is None or int(match[1]) < 1:
        raise OptionWrong(f"{name} is {text[:80]!r}; expected a size such as 32MiB, or a number of bytes")
    return int(match[1]) * unit


def _refuse(positions: Positions, position: Position, why: str) -> None:
    if position in (positions.everywhere, *(positions.each or {}).values()):
        raise OptionWrong(why)


def _check_order(read: ReadOptions) -> None:
    """Refuse ends before their starts, where both can be compared without the log."""
    start, end = read.start.everywhere, read.end.everywhere
    if isinstance(start, AtTime) and isinstance(end, AtTime) and end.time_ms < start.time_ms:
        raise OptionWrong("endingTimestamp is before startingTimestamp")
    for partition, first in (read.start.each or {}).items():
        last = read.end.of(partition)
        if isinstance(first, AtOffset) and isinstance(last, AtOffset) and last.offset < first.offset:
            raise OptionWrong(
                f"partition {partition} would end at offset {last.offset} and start at {first.offset}"
            )
