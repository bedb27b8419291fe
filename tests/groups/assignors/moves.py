"""How many partitions move in the long run, in ours and in Kafka's.

Both assignors live through the same stories, each going on from its own last target. Kafka's members are in a
hash map, as in a broker. What leaves with its topic is counted too; it is the same for both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from dray.groups.asks import Partitions
from dray.groups.assignors import assign_uniformly
from tests.groups.assignors.kafka import KafkaAssignors
from tests.groups.assignors.measures import improvable, moved
from tests.groups.assignors.scenes import Scene, Story


@dataclass(slots=True)
class Tally:
    """One assignor's way through the stories."""

    moves: int = 0
    uneven: int = 0
    """How often a single move would have helped."""
    target: Mapping[str, Partitions] | None = None

    def enter(self, scene: Scene) -> Scene:
        return scene.after(self.target or {})

    def leave(self, scene: Scene, target: Mapping[str, Partitions]) -> None:
        self.moves += moved(scene.current, target)
        self.uneven += any(improvable(scene, target))
        self.target = target


def compare(kafka: KafkaAssignors, *, mixed: bool, stories: int, rebalances: int) -> tuple[Tally, Tally]:
    """Ours and Kafka's."""
    ours, theirs = Tally(), Tally()
    for seed in range(stories):
        ours.target = theirs.target = None
        for scene in Story(Random(seed), mixed).scenes(rebalances + 1):
            mine, yours = ours.enter(scene), theirs.enter(scene)
            ours.leave(mine, mine.assigned(assign_uniformly))
            theirs.leave(yours, kafka.assign("uniform", yours, hashed=True))
    return ours, theirs
