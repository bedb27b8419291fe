"""Options of a reader: names, values, and constraints between them. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dray.spark.errors import InvalidOption
from dray.spark.options import boolean, integer, known_options, size, topic_option
from dray.spark.source.positions import (
    AtOffset,
    AtTime,
    Earliest,
    Latest,
    Position,
    Positions,
    read_offsets,
    read_time,
)

_NAMES: Final = (
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
_PARTITIONS_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The records to read, and the sizes of tasks and triggers."""

    topic: str
    partitions: tuple[int, ...] | None
    """In ascending order; None for all."""
    start: Positions
    end: Positions
    fail_on_data_loss: bool = True
    partition_bytes_max: int = 32 << 20
    partitions_min: int | None = None
    """None: the number of cores of the driver; a Python source cannot learn that of the executors."""
    records_per_trigger_max: int | None = None


def batch_options(options: Mapping[str, str]) -> ReadOptions:
    """Parse the options of `spark.read`; raises `InvalidOption`."""
    given = known_options(options, _NAMES, "reader")
    if "maxRecordsPerTrigger" in given:
        raise InvalidOption(
            "maxRecordsPerTrigger applies to readStream only; bound a read with endingOffsets"
        )
    read = _options(given, start=Earliest())
    _refuse(read.start, Latest(), "startingOffsets cannot be the latest: there would be nothing to read")
    _refuse(read.end, Earliest(), "endingOffsets cannot be the earliest: there would be nothing to read")
    _check_order(read)
    return read


def stream_options(options: Mapping[str, str], *, limits: bool) -> ReadOptions:
    """Parse the options of `spark.readStream`; `limits`: whether this Spark can limit a trigger."""
    given = known_options(options, _NAMES, "reader")
    for name in ("endingOffsets", "endingTimestamp"):
        if name in given:
            raise InvalidOption(f"{name} applies to read only; a stream has no end")
    if "maxRecordsPerTrigger" in given and not limits:
        raise InvalidOption(
            "maxRecordsPerTrigger needs Spark 4.2 or later: before that, Spark cannot ask a Python source "
            "for a part of the records"
        )
    return _options(given, start=Latest())


def _options(given: Mapping[str, str], *, start: Position) -> ReadOptions:
    topic = topic_option(given, "load")
    partitions = given.get("partitions")
    tasks, triggered = given.get("minPartitions"), given.get("maxRecordsPerTrigger")
    return ReadOptions(
        topic=topic,
        partitions=None if partitions is None else _partitions(partitions),
        start=_positions(given, "starting", topic) or Positions(start),
        end=_positions(given, "ending", topic) or Positions(Latest()),
        fail_on_data_loss=boolean("failOnDataLoss", given.get("failOnDataLoss", "true")),
        partition_bytes_max=size("maxPartitionBytes", given.get("maxPartitionBytes", "32MiB")),
        partitions_min=None if tasks is None else integer("minPartitions", tasks),
        records_per_trigger_max=None if triggered is None else integer("maxRecordsPerTrigger", triggered),
    )


def _positions(given: Mapping[str, str], end: str, topic: str) -> Positions | None:
    offsets, time = f"{end}Offsets", f"{end}Timestamp"
    if offsets in given and time in given:
        raise InvalidOption(f"{offsets} and {time} are both given; give one of them")
    if offsets in given:
        return read_offsets(offsets, given[offsets], topic)
    return read_time(time, given[time]) if time in given else None


def _partitions(text: str) -> tuple[int, ...]:
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last - first >= _PARTITIONS_MAX:
            raise InvalidOption(f"partitions is {text[:80]!r}; expected numbers and ranges such as 0,2,5-7")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def _refuse(positions: Positions, position: Position, reason: str) -> None:
    """Reject a position that leaves nothing to read, if all partitions have it."""
    given = [positions.everywhere] if positions.each is None else positions.each.values()
    if all(one == position for one in given):
        raise InvalidOption(reason)


def _check_order(read: ReadOptions) -> None:
    """Reject ends before starts, where they can be compared without the log."""
    start, end = read.start.everywhere, read.end.everywhere
    if isinstance(start, AtTime) and isinstance(end, AtTime) and end.time_ms < start.time_ms:
        raise InvalidOption("endingTimestamp is before startingTimestamp")
    for partition, first in (read.start.each or {}).items():
        last = read.end.of(partition)
        if isinstance(first, AtOffset) and isinstance(last, AtOffset) and last.offset < first.offset:
            raise InvalidOption(
                f"partition {partition} would end at offset {last.offset}, before its start at {first.offset}"
            )
