"""Orders to the job processes and their answers: JSON lines."""

import msgspec

READY = "ready"


class Convert(msgspec.Struct, frozen=True, tag_field="do", tag="convert"):
    """Convert all records of a topic to a new table; `tuned` applies to Kafka's side."""

    topic: str
    records: int
    tuned: bool = True


class Forget(msgspec.Struct, frozen=True, tag_field="do", tag="forget"):
    """Drop the table of a topic; Dray drops it with the topic."""

    topic: str


AnyOrder = Convert | Forget


class Answer(msgspec.Struct, frozen=True):
    """Seconds from the call that starts the job to the end of its last commit."""

    seconds: float = 0.0
