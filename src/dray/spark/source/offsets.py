"""Stream offsets in Spark's checkpoint, and the end of the next trigger. Pure.

    {"topic_id": "9f…", "0": 120, "1": 97}

Each partition has the offset of the next record to read. The id distinguishes the topic from one created
later under the same name, whose offsets mean other records. A missing partition was added since, and is read
from its beginning.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dray.cluster.topics import Topic
from dray.scan.topic import TopicDeleted
from dray.spark.errors import SourceError

_ID = "topic_id"


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """The position of a stream in every partition of a topic."""

    topic_id: bytes
    next_offsets: Mapping[int, int]

    def of(self, partition: int) -> int:
        """Return the next offset of a partition; 0 for one that was added since."""
        return self.next_offsets.get(partition, 0)

    def as_json(self) -> dict[str, str | int]:
        """Return it as Spark stores it; equal offsets yield equal text."""
        return {_ID: self.topic_id.hex(), **{str(one): at for one, at in sorted(self.next_offsets.items())}}


def read_offset(stored: Mapping[str, object], topic: str) -> StreamOffset:
    """Parse the result of `as_json`; raises `SourceError` if it is malformed."""
    try:
        topic_id = bytes.fromhex(str(stored[_ID]))
        offsets = {_number(key): _number(value) for key, value in stored.items() if key != _ID}
    except (KeyError, ValueError) as error:
        raise SourceError(
            f"the checkpoint of this query does not hold offsets of the topic {topic}: {str(stored)[:200]}; "
            "start it with another checkpointLocation"
        ) from error
    return StreamOffset(topic_id, offsets)


def _number(value: object) -> int:
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,19}", str(value)):
        raise ValueError(value)
    return int(str(value))


def check_same(offset: StreamOffset, now: Topic, name: str) -> None:
    """Reject offsets of a topic that was deleted, or of partitions that it never had."""
    if offset.topic_id != now.topic_id:
        raise TopicDeleted(
            f"the topic {name} was deleted and created again since this query began, or the checkpoint is of "
            f"another topic (its id was {offset.topic_id.hex()} and is {now.topic_id.hex()}); "
            "start it with another checkpointLocation"
        )
    if max(offset.next_offsets, default=0) >= len(now.streams):
        raise SourceError(
            f"the checkpoint names partition {max(offset.next_offsets)}, and the topic {name} has "
            f"{len(now.streams)}; start it with another checkpointLocation"
        )


def admitted(start: Mapping[int, int], end: Mapping[int, int], records_max: int | None) -> dict[int, int]:
    """Return the end of a trigger that may take so many records between two offsets.

    Every partition gets a share in proportion to its lag, so that all reach their ends together; the first
    ones get the remainder. Where offsets have no record, there are fewer records than offsets.
    """
    lag = {one: max(0, at - start.get(one, 0)) for one, at in sorted(end.items())}
    total = sum(lag.values())
    if records_max is None or total <= records_max:
        return {one: max(at, start.get(one, 0)) for one, at in sorted(end.items())}
    shares = {one: records_max * count // total for one, count in lag.items()}
    spare = records_max - sum(shares.values())
    for one, count in lag.items():
        more = min(spare, count - shares[one])
        shares[one] += more
        spare -= more
    return {one: start.get(one, 0) + share for one, share in shares.items()}
