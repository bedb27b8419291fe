"""Apache Kafka's own assignors, called through a small Java program.

Requests (`Input`) and responses are lines of JSON. Topic ids are encoded as in Kafka. The order of
members, topics and partitions is that of the request, and Kafka keeps it wherever it uses no hash map.
"""

import subprocess
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec

from dray.groups.assignors.contract import id_order
from dray.groups.commands import Partitions
from tests.groups.assignors.scenes import Scene
from tests.oracle import jars
from tests.oracle.environment import unmeasured

_SOURCE: Final = Path(__file__).parent / "java" / "Assignors.java"
Named = Mapping[str, Sequence[int]]


class InputMember(msgspec.Struct, frozen=True):
    """A member: its id, instance id, subscription and last target."""

    id: str
    instance: str | None
    topics: Sequence[str]
    target: Named


class Input(msgspec.Struct, frozen=True):
    """The input of an assignor."""

    assignor: str
    identical: bool
    """Whether all members subscribe to the same topics."""
    hashed: bool
    """Whether Kafka gets the members in a hash map, as in a broker, or in order."""
    counts: Mapping[str, int]
    members: Sequence[InputMember]


class KafkaAssignors:
    """The running program; it takes one input at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._inputs: IO[bytes] = process.stdin
        self._outputs: IO[bytes] = process.stdout
        self._decoder = msgspec.json.Decoder(dict[str, dict[str, tuple[int, ...]]])

    def assign(self, assignor: str, scene: Scene, *, hashed: bool = False) -> dict[str, Partitions]:
        """Kafka's assignment of a scene; a member that Kafka leaves out gets nothing."""
        self._inputs.write(msgspec.json.encode(_input(assignor, scene, hashed)) + b"\n")
        self._inputs.flush()
        line = self._outputs.readline()
        assert line, "the Java program has exited; its output is above"
        output = self._decoder.decode(line)
        return {member_id: _unnamed(output.get(member_id, {})) for member_id in sorted(scene.members)}


@contextmanager
def kafka_assignors() -> Iterator[KafkaAssignors]:
    classes = jars.compiled("java-assignors", [_SOURCE])
    command = jars.java("Assignors", extra=str(classes))
    with subprocess.Popen(
        command, env=unmeasured(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield KafkaAssignors(process)


def _input(assignor: str, scene: Scene, hashed: bool) -> Input:
    members = [
        InputMember(
            id=member_id,
            instance=member.instance_id,
            topics=[_name(topic) for topic in sorted(member.topic_ids & scene.counts.keys(), key=id_order)],
            target=_named(scene.current.get(member_id, {})),
        )
        for member_id, member in sorted(scene.members.items())
    ]
    counts = {_name(topic): count for topic, count in scene.counts.items()}
    return Input(assignor, scene.identical, hashed, counts, members)


def _named(partitions: Partitions) -> Named:
    return {_name(topic): partitions[topic] for topic in sorted(partitions, key=id_order)}


def _unnamed(partitions: Mapping[str, tuple[int, ...]]) -> Partitions:
    return {urlsafe_b64decode(name + "=="): numbers for name, numbers in partitions.items()}


def _name(topic_id: bytes) -> str:
    return urlsafe_b64encode(topic_id).rstrip(b"=").decode()
