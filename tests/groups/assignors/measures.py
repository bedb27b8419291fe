"""What can be said of an assignment without knowing how it was made."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from dray.groups.asks import Partitions
from tests.groups.assignors.scenes import Scene

Targets = Mapping[str, Partitions]


def size(partitions: Partitions) -> int:
    return sum(map(len, partitions.values()))


def sizes(targets: Targets) -> dict[str, int]:
    return {member_id: size(partitions) for member_id, partitions in targets.items()}


def slots(partitions: Partitions) -> set[tuple[bytes, int]]:
    return {(topic, number) for topic, numbers in partitions.items() for number in numbers}


def grouped(of: Iterable[tuple[bytes, int]]) -> Partitions:
    """The opposite of `slots`."""
    numbers: dict[bytes, tuple[int, ...]] = {}
    for topic, number in sorted(of):
        numbers[topic] = (*numbers.get(topic, ()), number)
    return numbers


def kept(before: Targets, after: Targets) -> int:
    """How many partitions stay with the member that had them."""
    return sum(len(slots(before.get(member_id, {})) & slots(now)) for member_id, now in after.items())


def moved(before: Targets, after: Targets) -> int:
    """How many partitions somebody had and has no more."""
    return sum(map(size, before.values())) - kept(before, after)


def faults(scene: Scene, targets: Targets) -> Iterator[str]:
    """Say what is wrong with an assignment, whichever assignor made it."""
    if targets.keys() != scene.members.keys():
        yield f"members are {sorted(scene.members)}, assigned are {sorted(targets)}"
    readers = Counter[tuple[bytes, int]]()
    for member_id, partitions in targets.items():
        readers.update((topic, number) for topic, numbers in partitions.items() for number in numbers)
        if not partitions.keys() <= scene.members[member_id].topic_ids:
            yield f"{member_id} reads what it is not subscribed to"
        if any(list(numbers) != sorted(numbers) or not numbers for numbers in partitions.values()):
            yield f"{member_id} has an empty or unordered topic"
    if readers != Counter(wanted(scene)):
        yield f"not everything is read once: {readers}"


def wanted(scene: Scene) -> Iterator[tuple[bytes, int]]:
    """All partitions of topics that there are and that somebody is subscribed to."""
    for topic, count in scene.counts.items():
        if subscribers(scene, topic):
            yield from ((topic, number) for number in range(count))


def subscribers(scene: Scene, topic: bytes) -> list[str]:
    return sorted(member_id for member_id, one in scene.members.items() if topic in one.topic_ids)


def improvable(scene: Scene, targets: Targets) -> Iterator[str]:
    """Name the single moves that would make loads more even."""
    loads = sizes(targets)
    for giver, partitions in targets.items():
        for topic in partitions:
            for taker in subscribers(scene, topic):
                if loads[giver] - loads[taker] > 1:
                    yield f"{topic.hex()} from {giver} ({loads[giver]}) to {taker} ({loads[taker]})"
