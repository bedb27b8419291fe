"""What the benchmark asks of the programs that turn topics into tables, and what they answer: JSON lines."""

import msgspec

READY = "ready"


class Convert(msgspec.Struct, frozen=True, tag_field="do", tag="convert"):
    """Turn all records of a topic into a table that is not there yet; `tuned` is for Kafka's side."""

    topic: str
    records: int
    tuned: bool = True


class Forget(msgspec.Struct, frozen=True, tag_field="do", tag="forget"):
    """Drop the table of a topic; Dray's goes with its topic."""

    topic: str


AnyOrder = Convert | Forget


class Answer(msgspec.Struct, frozen=True):
    """How long it took from the call that starts the job until its last commit was done."""

    seconds: float = 0.0
