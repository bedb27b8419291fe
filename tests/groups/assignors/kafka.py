"""Apache Kafka's own assignors, asked through a little Java programme that runs beside the tests.

`Question` and the answer are the two shapes that travel, one in a line. Topic ids are written as Kafka does.
The order of members, topics and partitions is ours, and Kafka keeps to it wherever it uses no hash map.
"""

import subprocess
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec

from dray.groups.asks import Partitions
from dray.groups.assignors.contract import id_order
from tests.groups.assignors.scenes import Scene
from tests.oracle import jars
from tests.oracle.environment import unmeasured

_SOURCE: Final = Path(__file__).parent / "java" / "Assignors.java"
Named = Mapping[str, Sequence[int]]


class QuestionMember(msgspec.Struct, frozen=True):
    """A member: its id, instance, subscription and last target."""

    id: str
    instance: str | None
    topics: Sequence[str]
    target: Named


class Question(msgspec.Struct, frozen=True):
    """What an assignor is to work out."""

    assignor: str
    identical: bool
    """Whether all are subscribed to the same."""
    hashed: bool
    """Whether the members are put into a hash map, as a broker does, or stay in order."""
    counts: Mapping[str, int]
    members: Sequence[QuestionMember]


class KafkaAssignors:
    """The programme; one question at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._questions: IO[bytes] = process.stdin
        self._answers: IO[bytes] = process.stdout
        self._decoder = msgspec.json.Decoder(dict[str, dict[str, tuple[int, ...]]])

    def assign(self, assignor: str, scene: Scene, *, hashed: bool = False) -> dict[str, Partitions]:
        """What Kafka makes of a scene; a member that Kafka does not mention gets nothing."""
        self._questions.write(msgspec.json.encode(_question(assignor, scene, hashed)) + b"\n")
        self._questions.flush()
        line = self._answers.readline()
        assert line, "the programme has ended; what it said is above"
        answer = self._decoder.decode(line)
        return {member_id: _unnamed(answer.get(member_id, {})) for member_id in sorted(scene.members)}


@contextmanager
def kafka_assignors() -> Iterator[KafkaAssignors]:
    classes = jars.compiled("java-assignors", [_SOURCE])
    command = jars.java("Assignors", extra=str(classes))
    with subprocess.Popen(
        command, env=unmeasured(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield KafkaAssignors(process)


def _question(assignor: str, scene: Scene, hashed: bool) -> Question:
    members = [
        QuestionMember(
            id=member_id,
            instance=member.instance_id,
            topics=[_name(topic) for topic in sorted(member.topic_ids & scene.counts.keys(), key=id_order)],
            target=_named(scene.current.get(member_id, {})),
        )
        for member_id, member in sorted(scene.members.items())
    ]
    counts = {_name(topic): count for topic, count in scene.counts.items()}
    return Question(assignor, scene.identical, hashed, counts, members)


def _named(partitions: Partitions) -> Named:
    return {_name(topic): partitions[topic] for topic in sorted(partitions, key=id_order)}


def _unnamed(partitions: Mapping[str, tuple[int, ...]]) -> Partitions:
    return {urlsafe_b64decode(name + "=="): numbers for name, numbers in partitions.items()}


def _name(topic_id: bytes) -> str:
    return urlsafe_b64encode(topic_id).rstrip(b"=").decode()
