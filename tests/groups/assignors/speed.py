"""Time of an assignment: for a new group, a balanced one, and one that a third of the members left."""

import time
from collections.abc import Iterator, Mapping
from random import Random
from typing import Final

from dray.groups.assignors import Assignor, AssignorMember
from dray.groups.commands import Partitions
from tests.groups.assignors.scenes import Scene

_RUNS: Final = 3


def measure(assignor: Assignor, members: int, partitions: int, *, topics: int, mixed: bool) -> list[float]:
    """Milliseconds for each of the three, the best of a few runs."""
    rng = Random(members)
    taken: list[float] = []
    target: Mapping[str, Partitions] = {}
    for bare in _scenes(rng, members, partitions, topics, mixed):
        scene, times = bare.after(target), []
        for _ in range(_RUNS):
            started = time.perf_counter()
            target = scene.assigned(assignor)
            times.append((time.perf_counter() - started) * 1000)
        taken.append(min(times))
    return taken


def _scenes(rng: Random, members: int, partitions: int, topics: int, mixed: bool) -> Iterator[Scene]:
    ids = [rng.randbytes(16) for _ in range(topics)]
    counts = dict.fromkeys(ids, partitions // topics)
    group = {
        f"member-{rng.getrandbits(64):016x}": AssignorMember(
            None, None, frozenset(rng.sample(ids, topics // 2) if mixed else ids)
        )
        for _ in range(members)
    }
    yield Scene(group, counts)
    yield Scene(group, counts)
    yield Scene(dict(rng.sample(sorted(group.items()), members - members // 3)), counts)
