"""Rounds: a member joins or leaves, the group's owner is killed, and the group has to recover.

A group has recovered when the surviving broker describes it as stable, with exactly the current members and
all partitions assigned, and each owner of a partition has committed since, which shows that the members know
of the assignment too. The time to recovery is the sum of these parts:

    the registration of the dead broker expires    metadata.session_ttl_ms, 2 s here
    its members are sent to the other broker       they ask for a coordinator every second
    the session of a member that left expires      6 s from its takeover, if the broker died before it could
                                                   pass on that the member had left
    members learn of the new generation            with their next heartbeats

A member that dies with its broker is the worst case: 10 s with these settings. With the default of 5 s for a
broker's registration it is 12 s or 13 s, more than the bound here.
"""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.chaos.groups.feed import PARTITIONS
from tests.chaos.groups.group_state import STABLE, GroupState, describe, member_brokers
from tests.chaos.groups.histories import GroupHistory
from tests.chaos.groups.members import HEARTBEAT_S, SESSION_S, Group
from tests.chaos.groups.membership import BrokerPair, Membership
from tests.chaos.victims import Victim
from tests.oracle.raw import RawError
from tests.oracle.request_client import RequestClient, Unanswered

RECOVERY_BOUND_S = SESSION_S + 5
"""Time after the kill within which the group must be stable again."""
_TIMEOUT_S = 60.0
_BEGIN_S = 2.0
_DOWN_S = 4.0
_POLL_S = 0.05
_LATE_PROBABILITY = 0.3


class NoProgress(Exception):
    """The group did not reach a state within its timeout."""


class _Moment(NamedTuple):
    """When to kill the broker."""

    is_after_begin: bool
    """Whether the delay starts when the rebalance was observed to begin, not with the change."""
    within_s: float


_MOMENTS = (
    _Moment(is_after_begin=False, within_s=0.3),  # perhaps before any member noticed the change
    _Moment(is_after_begin=True, within_s=HEARTBEAT_S),
    _Moment(is_after_begin=True, within_s=HEARTBEAT_S),
    _Moment(is_after_begin=False, within_s=2.0),  # perhaps after the rebalance
)


class Recovery(NamedTuple):
    """One round, with the seconds from the kill to recovery."""

    change: str
    state: str
    """The group state described last before the kill."""
    orphans: int
    """The number of members connected to the broker that was killed."""
    since: float
    until: float
    """When the broker was killed, and when it was up again."""
    stable_s: float
    committing_s: float
    load: float

    def __str__(self) -> str:
        killed = f"{self.change}, killed in {self.state} with {self.orphans} members"
        after = f"stable after {self.stable_s:.1f} s, committing after {self.committing_s:.1f} s"
        return f"{killed}, down for {self.until - self.since:.1f} s, {after}, load {self.load:.1f}"


@dataclass(frozen=True, slots=True)
class GroupSetup:
    """Two brokers, a group, its members and their history."""

    group: Group
    pair: BrokerPair
    membership: Membership
    history: GroupHistory
    directory: Path

    def is_split(self) -> bool:
        """Whether each member is registered at the broker it connects to while both are up."""
        return member_brokers(self.directory, self.group) == self.membership.clients

    def orphans(self) -> int:
        """Return the number of members registered at the owner."""
        return list(member_brokers(self.directory, self.group).values()).count(self.pair.owner_id)


class Rounds:
    """Runs rounds, one after the other."""

    def __init__(self, setup: GroupSetup, random: Random) -> None:
        self._setup = setup
        self._random = random
        host, _, port = setup.pair.other.address.partition(":")
        self._client = RequestClient((host, int(port)), timeout_s=5.0)

    def close(self) -> None:
        self._client.hang_up()

    def settle(self) -> None:
        """Wait until the group is stable and every member is at its expected broker."""
        self._await("split", lambda: self._settled() is not None and self._setup.is_split())

    def run(self) -> Recovery:
        self.settle()
        change = self._setup.membership.change(self._random)
        self._await_moment()
        state, orphans, load = self._describe().state, self._setup.orphans(), os.getloadavg()[0]
        victim = self._setup.pair.owner
        victim.kill()
        since = time.monotonic()
        with self._restarting(victim) as back:
            stable, committing = self._await_recovery()
        return Recovery(
            change, state, orphans, since, back.result(), stable - since, committing - since, load
        )

    def _await_moment(self) -> None:
        """Wait for a random time after the change or, mostly, after the rebalance was observed to begin."""
        moment = self._random.choice(_MOMENTS)
        if moment.is_after_begin:
            self._await_begin()
        time.sleep(self._random.uniform(0, moment.within_s))  # a random moment, not a wait for something

    def _await_begin(self) -> None:
        """Wait until the group is no longer stable; a quick rebalance may go unobserved."""
        deadline = time.monotonic() + _BEGIN_S
        while self._describe().state == STABLE and time.monotonic() < deadline:
            time.sleep(_POLL_S / 5)

    @contextmanager
    def _restarting(self, victim: Victim) -> "Iterator[Future[float]]":
        """Restart the broker after a random delay or, if late, after the group has recovered."""

        def restart(after_s: float) -> float:
            time.sleep(after_s)
            victim.start()
            return time.monotonic()

        late = self._random.random() < _LATE_PROBABILITY
        after_s = self._random.uniform(0, _DOWN_S)
        with ThreadPoolExecutor(1) as pool:
            back: Future[float] = Future() if late else pool.submit(restart, after_s)
            try:
                yield back
            finally:
                if late:
                    back.set_result(restart(0))

    def _await_recovery(self) -> tuple[float, float]:
        """Return when the group became stable, and when all members had committed since then."""
        since: float | None = None

        def recovered() -> bool:
            nonlocal since
            now, described = time.monotonic(), self._settled()
            since = None if described is None else since or now
            return described is not None and since is not None and self._has_committed(described, since)

        self._await("recovered", recovered)
        assert since is not None
        return since, time.monotonic()

    def _has_committed(self, described: GroupState, since: float) -> bool:
        """Whether each partition's owner has committed since then."""
        last = self._setup.history.last
        for partition in range(PARTITIONS):
            commit, client = last.get(partition), described.owner(partition)
            if commit is None or commit.requested_at < since or not client.startswith(f"{commit.member},"):
                return False
        return True

    def _settled(self) -> GroupState | None:
        described = self._describe()
        clients = frozenset(self._setup.membership.clients)
        return described if described.is_settled(clients, PARTITIONS) else None

    def _describe(self) -> GroupState:
        try:
            return describe(self._client, self._setup.group)
        except (Unanswered, RawError) as error:
            return GroupState(f"unknown: {error}", {})

    def _await(self, what: str, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while not reached():
            if time.monotonic() > deadline:
                actual, expected = self._describe(), sorted(self._setup.membership.clients)
                raise NoProgress(f"not {what} after {_TIMEOUT_S} s: {actual}, expected {expected}")
            time.sleep(_POLL_S)  # there is no notification to wait for
