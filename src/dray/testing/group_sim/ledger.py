"""Ledger of a simulated group: what its members use and committed, checked against the rules.

G1  A partition is never used by two members of a group at once.
G2  After an acknowledged commit, every fetch returns that offset or a later one.
G3  Epochs and generations of a group never decrease.
G4  In the stored group, a partition is assigned at most once.
G5  Once the faults have ended, every partition is used again after a while, by one member.

Two more rules are about the brokers, and checked by `world` and `sessions`:

G6  Once the faults have ended, the registered brokers are those that run.
G7  The store never ends a session that its owner still relies on.
"""

from collections.abc import Iterable
from typing import Protocol

from dray.groups.classic import ClassicGroup
from dray.groups.stored import Group, Tombstone


class Claimant(Protocol):
    """A member that may claim partitions."""

    name: str

    def uses(self, partition: int) -> bool:
        """Whether it considers itself the owner of a partition at this moment."""
        ...


class Ledger:
    """Records the events of one group, and violations of the rules; `lines` are those of the simulation."""

    def __init__(self, group_id: str, lines: list[str]) -> None:
        self.group_id = group_id
        self.lines = lines
        self.violations: list[str] = []
        self.commits = 0
        self._committed: dict[int, int] = {}
        self._seen: tuple[type[Group], int] | None = None

    def note(self, line: str) -> None:
        self.lines.append(f"{self.group_id}: {line}")

    def violate(self, line: str) -> None:
        self.note(f"VIOLATION {line}")
        self.violations.append(f"{self.group_id}: {line}")

    def begin_use(self, member: Claimant, partitions: Iterable[int], others: Iterable[Claimant]) -> None:
        """Record that a member begins to use assigned partitions."""
        taken = sorted(partitions)
        self.note(f"{member.name} uses {taken}")
        for other in others:
            shared = [one for one in taken if other is not member and other.uses(one)]
            if shared:
                self.violate(f"G1: {shared} are used by {member.name} and by {other.name}")

    def committed(self, partition: int, offset: int) -> None:
        """Record an acknowledged commit."""
        self.commits += 1
        self._committed[partition] = max(self._committed.get(partition, 0), offset)

    def floor(self, partition: int) -> int:
        """Return the lowest offset that a fetch starting now may return."""
        return self._committed.get(partition, 0)

    def fetched(self, partition: int, offset: int, floor: int) -> None:
        if offset < floor:
            self.violate(f"G2: partition {partition} was committed up to {floor}, but {offset} was fetched")

    def check_stored(self, group: Group | Tombstone | None) -> None:
        """Check the stored group."""
        if group is None or isinstance(group, Tombstone):
            self._seen = None
            return
        epoch = group.generation if isinstance(group, ClassicGroup) else group.epoch
        if self._seen is not None and self._seen[0] is type(group) and self._seen[1] > epoch:
            self.violate(f"G3: the epoch was {self._seen[1]} and is {epoch}")
        self._seen = (type(group), epoch)
        if not isinstance(group, ClassicGroup):
            held = [
                (topic, number)
                for member in group.members.values()
                for part in (member.assigned, member.revoking)
                for topic, numbers in part.items()
                for number in numbers
            ]
            if len(set(held)) < len(held):
                self.violate("G4: a partition is assigned twice")
