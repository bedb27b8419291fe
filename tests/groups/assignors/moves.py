"""Comparison of the number of partitions that Dray's and Kafka's uniform assignors move over many rebalances.

Both assign the same histories, each starting from its own last target. Kafka's members are in a hash map, as
in a broker. Partitions of deleted topics count as moved too, equally for both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from dray.groups.assignors import assign_uniformly
from dray.groups.commands import Partitions
from tests.groups.assignors.kafka import KafkaAssignors
from tests.groups.assignors.measures import improvable, moved
from tests.groups.assignors.scenes import History, Scene


@dataclass(slots=True)
class Tally:
    """Totals of one assignor over the histories."""

    moves: int = 0
    uneven: int = 0
    """How often a single move would have improved the balance."""
    target: Mapping[str, Partitions] | None = None

    def next_scene(self, scene: Scene) -> Scene:
        return scene.after(self.target or {})

    def record(self, scene: Scene, target: Mapping[str, Partitions]) -> None:
        self.moves += moved(scene.current, target)
        self.uneven += any(improvable(scene, target))
        self.target = target


def compare(kafka: KafkaAssignors, *, mixed: bool, histories: int, rebalances: int) -> tuple[Tally, Tally]:
    """Return the totals of Dray's and of Kafka's assignor."""
    ours, theirs = Tally(), Tally()
    for seed in range(histories):
        ours.target = theirs.target = None
        for scene in History(Random(seed), mixed).scenes(rebalances + 1):
            mine, yours = ours.next_scene(scene), theirs.next_scene(scene)
            ours.record(mine, mine.assigned(assign_uniformly))
            theirs.record(yours, kafka.assign("uniform", yours, hashed=True))
    return ours, theirs
