"""Membership of the group: which members join and leave, and which of the two brokers they connect to.

A group's owner is the broker that runs its timers and takes over the members of brokers that died, the same
choice for all that see the same registrations. Clients that name no zone are sent to it; clients in the other
broker's zone are sent to that one. So the members are split between the two.

Members in the owner's own zone would not work: their metadata lists only that broker, and librdkafka, which
forgets all others, may be disconnected until it is up again.
"""

from collections import Counter
from random import Random

from dray.cluster.brokers import BrokerInfo
from dray.cluster.zones import preferred
from tests.chaos.groups.histories import GroupHistory
from tests.chaos.groups.members import Group, Member
from tests.chaos.victims import Victim

_MEMBERS_MIN, _MEMBERS_MAX = 4, 6
_NO_ZONE = ""


class BrokerPair:
    """Two brokers: the owner of a group and the other one."""

    def __init__(self, victims: dict[int, Victim], group_id: str) -> None:
        brokers = [BrokerInfo(number, "", 0, None, 0, "") for number in victims]
        self.owner_id = preferred(brokers, group_id.encode()).broker_id
        """The owner while both brokers are registered."""
        (self.other_id,) = victims.keys() - {self.owner_id}
        self.owner, self.other = victims[self.owner_id], victims[self.other_id]

    @property
    def broker_of_zone(self) -> dict[str, int]:
        """The broker that clients of a zone connect to."""
        return {_NO_ZONE: self.owner_id, self.other.zone: self.other_id}


class Membership:
    """Four to six members, spread evenly over the two brokers."""

    def __init__(self, group: Group, pair: BrokerPair, history: GroupHistory) -> None:
        self._group = group
        self._broker_of_zone = pair.broker_of_zone
        self._history = history
        self._members: list[Member] = []
        self._left: list[Member] = []

    @property
    def clients(self) -> dict[str, int]:
        """The expected members by client id, and the broker of each while both are up."""
        return {member.client_id: self._broker_of_zone[member.zone] for member in self._members}

    @property
    def client_errors(self) -> Counter[str]:
        counted: Counter[str] = Counter()
        for member in (*self._members, *self._left):
            counted += member.client_errors
        return counted

    def start(self) -> None:
        for _ in range(_MEMBERS_MIN):
            self._join()

    def change(self, random: Random) -> str:
        """Start a join or a leave and return which, without waiting for the rebalance."""
        count = len(self._members)
        if count == _MEMBERS_MIN or (count < _MEMBERS_MAX and random.random() < 0.5):
            self._join()
            return "join"
        self._leave(random)
        return "leave"

    def stop(self) -> None:
        for member in self._members:
            member.leaving.set()
        for member in (*self._left, *self._members):
            member.finish()

    def _join(self) -> None:
        number = len(self._members) + len(self._left)
        zone = min(self._broker_of_zone, key=self._size)
        member = Member(f"m{number}", zone, self._group, self._history)
        member.start()
        self._members.append(member)

    def _leave(self, random: Random) -> None:
        most = max(map(self._size, self._broker_of_zone))
        member = random.choice([one for one in self._members if self._size(one.zone) == most])
        member.leaving.set()
        self._members.remove(member)
        self._left.append(member)

    def _size(self, zone: str) -> int:
        return sum(member.zone == zone for member in self._members)
