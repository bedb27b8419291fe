"""The members that there are: who comes, who goes, and which of the two brokers they call.

A group's caretaker is the broker that runs its timers and takes over the members of brokers that died: the
one that all agree on among those registered. It is also the one that clients of no zone are told to call.
Those of the other broker's zone call that one. So the members are split between the two.

Members of the caretaker's own zone would not do. They are told of that one broker only, and librdkafka, which
forgets all others, may be cut off until it is back.
"""

from collections import Counter
from random import Random

from dray.cluster.brokers import BrokerInfo
from dray.cluster.zones import preferred
from tests.chaos.groups.histories import Ledger
from tests.chaos.groups.members import Group, Member
from tests.chaos.victims import Victim

_LEAST, _MOST = 4, 6
_NO_ZONE = ""


class Pair:
    """Two brokers, as a group sees them."""

    def __init__(self, victims: dict[int, Victim], group_id: str) -> None:
        brokers = [BrokerInfo(number, "", 0, None, 0, "") for number in victims]
        self.caretaker_id = preferred(brokers, group_id.encode()).broker_id
        """Who looks after the group while both are there."""
        (self.other_id,) = victims.keys() - {self.caretaker_id}
        self.caretaker, self.other = victims[self.caretaker_id], victims[self.other_id]

    @property
    def called_from(self) -> dict[str, int]:
        """Which broker clients call, by the zone they name."""
        return {_NO_ZONE: self.caretaker_id, self.other.zone: self.other_id}


class Company:
    """Four to six members, about as many at each broker."""

    def __init__(self, group: Group, pair: Pair, ledger: Ledger) -> None:
        self._group = group
        self._called_from = pair.called_from
        self._ledger = ledger
        self._members: list[Member] = []
        self._gone: list[Member] = []

    @property
    def clients(self) -> dict[str, int]:
        """Who is to be in the group, by client id, and at which broker while both are there."""
        return {member.client_id: self._called_from[member.zone] for member in self._members}

    @property
    def complaints(self) -> Counter[str]:
        counted: Counter[str] = Counter()
        for member in (*self._members, *self._gone):
            counted += member.complaints
        return counted

    def assemble(self) -> None:
        for _ in range(_LEAST):
            self._join()

    def change(self, chosen: Random) -> str:
        """Let somebody come or go; returns at once, with a word for it."""
        count = len(self._members)
        if count == _LEAST or (count < _MOST and chosen.random() < 0.5):
            self._join()
            return "join"
        self._leave(chosen)
        return "leave"

    def dissolve(self) -> None:
        for member in self._members:
            member.leaving.set()
        for member in (*self._gone, *self._members):
            member.finish()

    def _join(self) -> None:
        number = len(self._members) + len(self._gone)
        zone = min(self._called_from, key=self._size)
        member = Member(f"m{number}", zone, self._group, self._ledger)
        member.start()
        self._members.append(member)

    def _leave(self, chosen: Random) -> None:
        most = max(map(self._size, self._called_from))
        member = chosen.choice([one for one in self._members if self._size(one.zone) == most])
        member.leaving.set()
        self._members.remove(member)
        self._gone.append(member)

    def _size(self, zone: str) -> int:
        return sum(member.zone == zone for member in self._members)
