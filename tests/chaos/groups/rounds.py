"""One round: a member comes or goes, the caretaker is killed, and the group has to find itself again.

Recovered is a group that is described as stable by the surviving broker, with just the members that are
there and all partitions among them, and in which each owner has since committed something: so the members
know it too. How long that takes has these parts:

    the dead broker is still registered        metadata.session_ttl_ms, 2 s here
    its members are told of another one        they ask every second
    a member is waited for that has gone       its session, 6 s, begins when it is taken over: if the
                                               broker died before it could pass on that it left
    members learn of a new generation          heartbeat by heartbeat

A member that dies with its broker is the worst case: 10 s with these settings. With the default of 5 s for a
broker's registration it is 12 s or 13 s, more than is allowed here.
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

from tests.chaos.groups.company import Company, Pair
from tests.chaos.groups.feed import PARTITIONS
from tests.chaos.groups.histories import Ledger
from tests.chaos.groups.members import HEARTBEAT_S, SESSION_S, Group
from tests.chaos.groups.sight import STABLE, Standing, attachments, look
from tests.chaos.victims import Victim
from tests.oracle.asking import Asker, Unanswered
from tests.oracle.raw import RawError

BOUND_S = SESSION_S + 5
"""How long after the kill the group must be stable again."""
_PATIENCE_S = 60.0
_BEGINS_S = 2.0
_AWAY_S = 4.0
_LOOK_EVERY_S = 0.05
_COMES_BACK_LATE = 0.3


class Stuck(Exception):
    """The group did not come to rest, however long it was waited for."""


class _Moment(NamedTuple):
    """When to strike."""

    is_seen: bool
    """Whether it counts from when the rebalance was seen to begin."""
    within_s: float


_MOMENTS = (
    _Moment(is_seen=False, within_s=0.3),  # perhaps before anybody has heard of the change
    _Moment(is_seen=True, within_s=HEARTBEAT_S),
    _Moment(is_seen=True, within_s=HEARTBEAT_S),
    _Moment(is_seen=False, within_s=2.0),  # perhaps when it is over
)


class Recovery(NamedTuple):
    """What happened in a round, and how many seconds after the kill the group was itself again."""

    change: str
    state: str
    """How the group was described last before the kill."""
    orphans: int
    """How many members belonged to the broker that was killed."""
    since: float
    until: float
    """When the broker was killed, and when it was back."""
    stable_s: float
    flowing_s: float
    load: float

    def __str__(self) -> str:
        killed = f"{self.change}, killed in {self.state} with {self.orphans} members"
        after = f"stable after {self.stable_s:.1f} s, flowing after {self.flowing_s:.1f} s"
        return f"{killed}, away for {self.until - self.since:.1f} s, {after}, load {self.load:.1f}"


@dataclass(frozen=True, slots=True)
class Scene:
    """Two brokers, a group, and what is known of both."""

    group: Group
    pair: Pair
    company: Company
    ledger: Ledger
    directory: Path

    def is_split(self) -> bool:
        """Whether each member belongs to the broker that it calls while both are there."""
        return attachments(self.directory, self.group) == self.company.clients

    def orphans(self) -> int:
        """How many members belong to the caretaker."""
        return list(attachments(self.directory, self.group).values()).count(self.pair.caretaker_id)


class Rounds:
    """Goes through rounds, one after the other."""

    def __init__(self, scene: Scene, chosen: Random) -> None:
        self._scene = scene
        self._chosen = chosen
        host, _, port = scene.pair.other.address.partition(":")
        self._asker = Asker((host, int(port)), timeout_s=5.0)

    def close(self) -> None:
        self._asker.hang_up()

    def settle(self) -> None:
        """Wait until the group is stable and every member is at its broker."""
        self._await("split", lambda: self._settled() is not None and self._scene.is_split())

    def go(self) -> Recovery:
        self.settle()
        change = self._scene.company.change(self._chosen)
        self._await_moment()
        state, orphans, load = self._look().state, self._scene.orphans(), os.getloadavg()[0]
        victim = self._scene.pair.caretaker
        victim.kill()
        since = time.monotonic()
        with self._coming_back(victim) as back:
            stable, flowing = self._await_recovery()
        return Recovery(change, state, orphans, since, back.result(), stable - since, flowing - since, load)

    def _await_moment(self) -> None:
        """Let a random while pass: since the change, or, mostly, since the rebalance was seen to begin."""
        moment = self._chosen.choice(_MOMENTS)
        if moment.is_seen:
            self._await_begin()
        time.sleep(self._chosen.uniform(0, moment.within_s))  # a random moment, not a wait for something

    def _await_begin(self) -> None:
        """Wait until the group is no longer stable; a rebalance that is over quickly may not be seen."""
        deadline = time.monotonic() + _BEGINS_S
        while self._look().state == STABLE and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S / 5)

    @contextmanager
    def _coming_back(self, victim: Victim) -> "Iterator[Future[float]]":
        """Start the broker again after a while, or, late, when the group is itself again."""

        def come_back(after_s: float) -> float:
            time.sleep(after_s)
            victim.start()
            return time.monotonic()

        late = self._chosen.random() < _COMES_BACK_LATE
        after_s = self._chosen.uniform(0, _AWAY_S)
        with ThreadPoolExecutor(1) as pool:
            back: Future[float] = Future() if late else pool.submit(come_back, after_s)
            try:
                yield back
            finally:
                if late:
                    back.set_result(come_back(0))

    def _await_recovery(self) -> tuple[float, float]:
        """Return since when the group has been stable, and when that had come through to all members."""
        since: float | None = None

        def recovered() -> bool:
            nonlocal since
            now, standing = time.monotonic(), self._settled()
            since = None if standing is None else since or now
            return standing is not None and since is not None and self._flows(standing, since)

        self._await("recovered", recovered)
        assert since is not None
        return since, time.monotonic()

    def _flows(self, standing: Standing, since: float) -> bool:
        """Whether each partition's owner has committed since then."""
        last = self._scene.ledger.last
        for partition in range(PARTITIONS):
            commit, client = last.get(partition), standing.owner(partition)
            if commit is None or commit.asked < since or not client.startswith(f"{commit.member},"):
                return False
        return True

    def _settled(self) -> Standing | None:
        standing = self._look()
        clients = frozenset(self._scene.company.clients)
        return standing if standing.is_settled(clients, PARTITIONS) else None

    def _look(self) -> Standing:
        try:
            return look(self._asker, self._scene.group)
        except (Unanswered, RawError) as error:
            return Standing(f"unseen: {error}", {})

    def _await(self, what: str, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not reached():
            if time.monotonic() > deadline:
                told = f"{self._look()}, to be {sorted(self._scene.company.clients)}"
                raise Stuck(f"not {what} after {_PATIENCE_S} s: {told}")
            time.sleep(_LOOK_EVERY_S)  # a broker tells nobody, it has to be asked
