"""Where a stream stands, as Spark keeps it in its checkpoint; and how far the next trigger may go. Pure.

    {"topic_id": "9f…", "0": 120, "1": 97}

Each partition has the offset of the next record to be read. The id tells the topic from one that was made
again under its name: that one's offsets mean other records. A partition that is not named has been added
since, and is read from its beginning.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dray.cluster.topics import Topic
from dray.pipeline.reading.errors import TopicGone
from dray.pipeline.spark.source.errors import SourceError

_ID = "topic_id"


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """A place in every partition of a topic."""

    topic_id: bytes
    next_offsets: Mapping[int, int]

    def of(self, partition: int) -> int:
        """Return the next offset of a partition; one that was added since begins at 0."""
        return self.next_offsets.get(partition, 0)

    def told(self) -> dict[str, str | int]:
        """Return it as Spark stores it; equal offsets become equal text."""
        return {_ID: self.topic_id.hex(), **{str(one): at for one, at in sorted(self.next_offsets.items())}}


def read_offset(told: Mapping[str, object], topic: str) -> StreamOffset:
    """Read what `told` gave; raises `SourceError` if it is something else."""
    try:
        topic_id = bytes.fromhex(str(told[_ID]))
        offsets = {_number(key): _number(value) for key, value in told.items() if key != _ID}
    except (KeyError, ValueError) as error:
        raise SourceError(
            f"the checkpoint of this query does not hold offsets of the topic {topic}: {str(told)[:200]}; "
            "start it with another checkpointLocation"
        ) from error
    return StreamOffset(topic_id, offsets)


def _number(value: object) -> int:
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,19}", str(value)):
        raise ValueError(value)
    return int(str(value))


def check_same(offset: StreamOffset, now: Topic, name: str) -> None:
    """Refuse offsets of a topic that is no more, or of partitions that it never had."""
    if offset.topic_id != now.topic_id:
        raise TopicGone(
            f"the topic {name} was deleted and made again since this query began, or the checkpoint is of "
            f"another topic (its id was {offset.topic_id.hex()} and is {now.topic_id.hex()}); "
            "start it with another checkpointLocation"
        )
    if max(offset.next_offsets, default=0) >= len(now.streams):
        raise SourceError(
            f"the checkpoint names partition {max(offset.next_offsets)}, and the topic {name} has "
            f"{len(now.streams)}; start it with another checkpointLocation"
        )


def admitted(start: Mapping[int, int], end: Mapping[int, int], records_max: int | None) -> dict[int, int]:
    """Return how far a trigger goes that may take so many records, of those between two offsets.

    Every partition gets its share of what waits, so that all come to their ends together; what rounding
    leaves over goes to the first ones. Where offsets have no record, there are fewer records than offsets.
    """
    waiting = {one: max(0, at - start.get(one, 0)) for one, at in sorted(end.items())}
    total = sum(waiting.values())
    if records_max is None or total <= records_max:
        return {one: max(at, start.get(one, 0)) for one, at in sorted(end.items())}
    shares = {one: records_max * count // total for one, count in waiting.items()}
    spare = records_max - sum(shares.values())
    for one, count in waiting.items():
        more = min(spare, count - shares[one])
        shares[one] += more
        spare -= more
    return {one: start.get(one, 0) + share for one, share in shares.items()}
