"""What members believe and what was promised to them, and the rules that must hold.

G1  A partition is never used by two members of a group at once.
G2  An offset that was committed is what is fetched from then on, or a later one.
G3  Epochs and generations of a group only grow.
G4  In what is stored, a partition is given out at most once.
G5  When nothing goes wrong any more, all partitions are used again after a while, each by one member.
"""

from collections.abc import Iterable
from typing import Protocol

from dray.groups.classic import ClassicGroup
from dray.groups.group import Doomed, Group


class Believer(Protocol):
    """A member, as far as the rules go."""

    name: str

    def uses(self, partition: int) -> bool:
        """Whether it takes itself for the owner of a partition at this moment."""
        ...


class Ledger:
    """The books of one group."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.lines: list[str] = []
        self.violations: list[str] = []
        self.commits = 0
        self._committed: dict[int, int] = {}
        self._seen: tuple[type[Group], int] | None = None

    def note(self, line: str) -> None:
        self.lines.append(f"{self.group_id}: {line}")

    def complain(self, line: str) -> None:
        self.note(f"VIOLATION {line}")
        self.violations.append(f"{self.group_id}: {line}")

    def given(self, member: Believer, partitions: Iterable[int], others: Iterable[Believer]) -> None:
        """A member was given partitions and begins to use them."""
        taken = sorted(partitions)
        self.note(f"{member.name} uses {taken}")
        for other in others:
            shared = [one for one in taken if other is not member and other.uses(one)]
            if shared:
                self.complain(f"G1: {shared} are used by {member.name} and by {other.name}")

    def committed(self, partition: int, offset: int) -> None:
        """A commit was acknowledged."""
        self.commits += 1
        self._committed[partition] = max(self._committed.get(partition, 0), offset)

    def floor(self, partition: int) -> int:
        """Return the least that a fetch that begins now may find."""
        return self._committed.get(partition, 0)

    def fetched(self, partition: int, offset: int, floor: int) -> None:
        if offset < floor:
            self.complain(f"G2: partition {partition} was committed up to {floor}, {offset} was fetched")

    def stored(self, group: Group | Doomed | None) -> None:
        """Look at the group as it is stored."""
        if group is None or isinstance(group, Doomed):
            self._seen = None
            return
        epoch = group.generation if isinstance(group, ClassicGroup) else group.epoch
        if self._seen is not None and self._seen[0] is type(group) and self._seen[1] > epoch:
            self.complain(f"G3: the epoch was {self._seen[1]} and is {epoch}")
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
                self.complain("G4: a partition is given out twice")
