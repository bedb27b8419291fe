"""From positions to ranges of offsets, once it is known what the log holds. Pure."""

from collections.abc import Mapping

from dray.pipeline.reading.stretches import Cut, Partition, Wanted, left_of
from dray.pipeline.spark.options import OptionWrong
from dray.pipeline.spark.source.errors import DataLost
from dray.pipeline.spark.source.options import ReadOptions
from dray.pipeline.spark.source.positions import AtOffset, AtTime, Earliest, Latest, Position, Positions

Times = Mapping[tuple[int, int], int]
"""Partition and time to the offset that was found for them."""


def chosen(options: ReadOptions, count: int) -> tuple[int, ...]:
    """Return the partitions to be read, of a topic that has so many."""
    if options.partitions is None:
        return tuple(range(count))
    missing = [number for number in options.partitions if number >= count]
    if missing:
        raise OptionWrong(
            f"partitions names {missing[0]}, and the topic {options.topic} has {count}, counted from 0"
        )
    return options.partitions


def wanted_times(options: ReadOptions) -> list[int]:
    """Return the times that must be looked up in every partition."""
    both = (options.start.everywhere, options.end.everywhere)
    return [position.time_ms for position in both if isinstance(position, AtTime)]


def check_complete(option: str, positions: Positions, partitions: tuple[int, ...]) -> None:
    """See to it that offsets are given for just the partitions that are read, as for Spark's Kafka source."""
    if positions.each is None:
        return
    missing = [number for number in partitions if number not in positions.each]
    if missing:
        raise OptionWrong(
            f"{option} gives no offset for partition {missing[0]}; give -2 for its earliest or -1 for its "
            "latest, or leave it out of the option partitions"
        )
    strange = sorted(set(positions.each) - set(partitions))
    if strange:
        raise OptionWrong(f"{option} gives an offset for partition {strange[0]}, which is not read")


def resolved(options: ReadOptions, partition: Partition, times: Times) -> Wanted:
    """Return what is read of a partition; raises `DataLost`."""
    start = options.start.of(partition.number)
    end = options.end.of(partition.number)
    assert start is not None
    assert end is not None
    first = placed(start, partition, times)
    last = placed(end, partition, times)
    asked = Wanted(partition.number, partition.stream, first, max(first, last))
    return cutting(fail_on_data_loss=options.fail_on_data_loss)(asked, partition)


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


def cutting(*, fail_on_data_loss: bool) -> Cut:
    """Return how ranges are cut to what the log holds: to all of it, with `DataLost` if there is less."""
    return _held if fail_on_data_loss else left_of


def _held(asked: Wanted, partition: Partition) -> Wanted:
    lost = _lost(asked, partition.first_offset, partition.end_offset)
    if lost:
        raise DataLost(f"partition {partition.number}: {lost}")
    return left_of(asked, partition)


def _lost(asked: Wanted, low: int, high: int) -> str:
    if asked.first_offset < low and asked.first_offset < asked.end_offset:
        until = min(low, asked.end_offset)
        return (
            f"offsets {asked.first_offset} to {until - 1} are not in the log any more: it starts at {low}; "
            "retention removed them, or a deletion of records"
        )
    if asked.end_offset > high:
        return f"offset {asked.end_offset} was asked for, and the log ends at {high}"
    return ""
