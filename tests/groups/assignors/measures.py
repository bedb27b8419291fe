"""Measures of assignments, whichever assignor computed them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from dray.groups.commands import Partitions
from tests.groups.assignors.scenes import Scene

Targets = Mapping[str, Partitions]


def size(partitions: Partitions) -> int:
    return sum(map(len, partitions.values()))


def sizes(targets: Targets) -> dict[str, int]:
    return {member_id: size(partitions) for member_id, partitions in targets.items()}


def slots(partitions: Partitions) -> set[tuple[bytes, int]]:
    return {(topic, number) for topic, numbers in partitions.items() for number in numbers}


def grouped(of: Iterable[tuple[bytes, int]]) -> Partitions:
    """The inverse of `slots`."""
    numbers: dict[bytes, tuple[int, ...]] = {}
    for topic, number in sorted(of):
        numbers[topic] = (*numbers.get(topic, ()), number)
    return numbers


def kept(before: Targets, after: Targets) -> int:
    """The number of partitions that stay with their member."""
    return sum(len(slots(before.get(member_id, {})) & slots(now)) for member_id, now in after.items())


def moved(before: Targets, after: Targets) -> int:
    """The number of partitions that a member had and no longer has."""
    return sum(map(size, before.values())) - kept(before, after)


def violations(scene: Scene, targets: Targets) -> Iterator[str]:
    """Violations of the contract of assignors."""
    if targets.keys() != scene.members.keys():
        yield f"members are {sorted(scene.members)}, targets are for {sorted(targets)}"
    readers = Counter[tuple[bytes, int]]()
    for member_id, partitions in targets.items():
        readers.update((topic, number) for topic, numbers in partitions.items() for number in numbers)
        if not partitions.keys() <= scene.members[member_id].topic_ids:
            yield f"{member_id} is assigned a topic it does not subscribe to"
        if any(list(numbers) != sorted(numbers) or not numbers for numbers in partitions.values()):
            yield f"{member_id} has an empty or unordered topic"
    if readers != Counter(wanted(scene)):
        yield f"not every partition is assigned once: {readers}"


def wanted(scene: Scene) -> Iterator[tuple[bytes, int]]:
    """All partitions of existing topics with subscribers."""
    for topic, count in scene.counts.items():
        if subscribers(scene, topic):
            yield from ((topic, number) for number in range(count))


def subscribers(scene: Scene, topic: bytes) -> list[str]:
    return sorted(member_id for member_id, one in scene.members.items() if topic in one.topic_ids)


def improvable(scene: Scene, targets: Targets) -> Iterator[str]:
    """The single moves that would improve the balance."""
    loads = sizes(targets)
    for giver, partitions in targets.items():
        for topic in partitions:
            for taker in subscribers(scene, topic):
                if loads[giver] - loads[taker] > 1:
                    yield f"{topic.hex()} from {giver} ({loads[giver]}) to {taker} ({loads[taker]})"
