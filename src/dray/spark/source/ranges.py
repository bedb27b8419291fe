"""Offset ranges from positions, given the offsets that are in the log. Pure."""

from collections.abc import Mapping

from dray.ids import missing_partition
from dray.scan.ranges import Clip, OffsetRange, Partition, clip
from dray.spark.errors import DataLost, InvalidOption
from dray.spark.source.options import ReadOptions
from dray.spark.source.positions import AtOffset, AtTime, Earliest, Latest, Position, Positions

Times = Mapping[tuple[int, int], int]
"""Offsets by partition and time."""


def chosen(options: ReadOptions, count: int) -> tuple[int, ...]:
    """Return the partitions to read, of a topic with `count` partitions."""
    if options.partitions is None:
        return tuple(range(count))
    missing = [number for number in options.partitions if number >= count]
    if missing:
        raise InvalidOption(f"option partitions: {missing_partition(options.topic, missing[0], count)}")
    return options.partitions


def wanted_times(options: ReadOptions) -> list[int]:
    """Return the times to look up in every partition."""
    both = (options.start.everywhere, options.end.everywhere)
    return [position.time_ms for position in both if isinstance(position, AtTime)]


def check_complete(option: str, positions: Positions, partitions: tuple[int, ...]) -> None:
    """Check that offsets are given for exactly the partitions to read, as in Spark's Kafka source."""
    if positions.each is None:
        return
    missing = [number for number in partitions if number not in positions.each]
    if missing:
        raise InvalidOption(
            f"{option} has no offset for partition {missing[0]}; give -2 for its earliest or -1 for its "
            "latest, or leave it out of the option partitions"
        )
    unexpected = sorted(set(positions.each) - set(partitions))
    if unexpected:
        raise InvalidOption(f"{option} has an offset for partition {unexpected[0]}, which is not read")


def resolved(options: ReadOptions, partition: Partition, times: Times) -> OffsetRange:
    """Return the range to read of a partition; raises `DataLost`."""
    start = options.start.of(partition.number)
    end = options.end.of(partition.number)
    assert start is not None
    assert end is not None
    first = placed(start, partition, times)
    last = placed(end, partition, times)
    requested = OffsetRange(partition.number, partition.stream, first, max(first, last))
    return cutting(fail_on_data_loss=options.fail_on_data_loss)(requested, partition)


def placed(position: Position, partition: Partition, times: Times) -> int:
    """Return the offset of a position."""
    match position:
        case Earliest():
            return partition.first_offset
        case Latest():
            return partition.end_offset
        case AtOffset(offset):
            return offset
        case AtTime(time_ms):
            return times[partition.number, time_ms]


def cutting(*, fail_on_data_loss: bool) -> Clip:
    """Return how ranges are clipped to the log: with `DataLost` if anything is missing, or silently."""
    return _held if fail_on_data_loss else clip


def _held(requested: OffsetRange, partition: Partition) -> OffsetRange:
    lost = _lost(requested, partition.first_offset, partition.end_offset)
    if lost:
        raise DataLost(f"partition {partition.number}: {lost}")
    return clip(requested, partition)


def _lost(requested: OffsetRange, low: int, high: int) -> str:
    if requested.first_offset < low and requested.first_offset < requested.end_offset:
        until = min(low, requested.end_offset)
        return (
            f"offsets {requested.first_offset} to {until - 1} are no longer in the log, which starts at "
            f"{low}; retention or DeleteRecords removed them"
        )
    if requested.end_offset > high:
        return f"offset {requested.end_offset} was requested, but the log ends at {high}"
    return ""
