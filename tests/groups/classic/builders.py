"""Asks with everything filled in, and a desk: a group together with those who wait for it."""

from dataclasses import dataclass, field
from typing import Any

from dray.groups.asks import Beat, Committer, Join, Leave, Leaver, Sync
from dray.groups.classic import (
    ClassicGroup,
    Member,
    Phase,
    beat,
    fire,
    join,
    leave,
    settle,
    sync,
    timers,
)
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Parked, TimerAsked, TimerKind
from dray.groups.replies import Joined, Synced

LIMITS = GroupLimits()
RANGE = (("range", b"r"),)
BOTH = (("range", b"r"), ("sticky", b"s"))


def a_join(member_id: str = "", **changes: Any) -> Join:
    fields: dict[str, Any] = {
        "member_id": member_id,
        "instance_id": None,
        "client_id": "client",
        "client_host": "/10.0.0.1",
        "protocol_type": "consumer",
        "protocols": RANGE,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "broker": 1,
        "new_id": "",
    }
    return Join(**fields | changes)


def a_sync(member_id: str, generation: int, **changes: Any) -> Sync:
    fields: dict[str, Any] = {
        "member_id": member_id,
        "instance_id": None,
        "generation": generation,
        "protocol_type": "consumer",
        "protocol": "range",
        "assignments": (),
        "broker": 1,
    }
    return Sync(**fields | changes)


def a_committer(member_id: str = "", epoch: int = -1, **changes: Any) -> Committer:
    fields: dict[str, Any] = {"member_id": member_id, "instance_id": None, "epoch": epoch, "broker": 1}
    return Committer(**fields | changes)


@dataclass
class Desk:
    """One group as a host would keep it: every ask is applied, stored, and all who wait are asked after."""

    limits: GroupLimits = LIMITS
    now_ms: int = 1_000
    group: ClassicGroup | None = None
    answers: dict[str, list[Joined | Synced]] = field(default_factory=dict)
    """What those who had to wait were told, by member id."""
    waiting: list[Parked] = field(default_factory=list)

    @property
    def known(self) -> ClassicGroup:
        assert self.group is not None
        return self.group

    def phase(self) -> Phase:
        return self.known.phase

    def member(self, member_id: str) -> Member:
        return self.known.members[member_id]

    def ask(self, member_id: str = "", **changes: Any) -> Joined | Parked:
        """A join as it comes, with whatever it brings."""
        outcome = join(self.group, a_join(member_id, **changes), self.limits, self.now_ms)
        self._store(outcome.group, outcome.reply)
        return outcome.reply

    def enter(self, *names: str, **changes: Any) -> None:
        """New members, of a version that does not have to know its id first."""
        for name in names:
            self.ask(new_id=name, must_know_id=False, **changes)

    def rejoin(self, *names: str, **changes: Any) -> None:
        for name in names:
            self.ask(name, **changes)

    def sync(self, member_id: str, **changes: Any) -> Synced | Parked:
        changes = {"generation": self.known.generation} | changes
        outcome = sync(self.group, a_sync(member_id, **changes), self.limits, self.now_ms)
        self._store(outcome.group, outcome.reply)
        return outcome.reply

    def beat(self, member_id: str, **changes: Any) -> Fault:
        fields: dict[str, Any] = {"instance_id": None, "generation": self.known.generation, "broker": 1}
        outcome = beat(self.group, Beat(member_id, **fields | changes))
        self._store(outcome.group)
        return outcome.reply

    def leave(self, *leavers: Leaver | str) -> tuple[Fault, ...]:
        named = tuple(Leaver(one) if isinstance(one, str) else one for one in leavers)
        outcome = leave(self.group, Leave(named), self.limits, self.now_ms)
        self._store(outcome.group)
        return outcome.reply

    def asked(self) -> list[TimerAsked]:
        return list(timers(self.known, self.limits))

    def timer(self, kind: TimerKind, member_id: str = "") -> TimerAsked:
        return next(
            asked for asked in self.asked() if asked.timer.kind is kind and asked.timer.member_id == member_id
        )

    def kinds(self, member_id: str = "") -> set[TimerKind]:
        return {asked.timer.kind for asked in self.asked() if asked.timer.member_id == member_id}

    def fire(self, kind: TimerKind, member_id: str = "") -> None:
        asked = self.timer(kind, member_id)
        self._store(fire(self.known, asked.timer, self.limits, self.now_ms))

    def wait_out(self) -> None:
        """Let the initial delay pass, as often as it was put off."""
        while self.known.initial is not None:
            self.fire(TimerKind.INITIAL_DELAY)

    def _store(self, group: ClassicGroup | None, reply: object = None) -> None:
        self.group = group
        if isinstance(reply, Parked):
            self.waiting.append(reply)
        for parked in tuple(self.waiting):
            answer = settle(group, parked)
            if answer is not None:
                self.waiting.remove(parked)
                self.answers.setdefault(parked.member_id, []).append(answer)

    def last_joined(self, member_id: str) -> Joined:
        answer = self.answers[member_id][-1]
        assert isinstance(answer, Joined)
        return answer

    def last_synced(self, member_id: str) -> Synced:
        answer = self.answers[member_id][-1]
        assert isinstance(answer, Synced)
        return answer


def preparing(*names: str, **changes: Any) -> Desk:
    """A new group in its initial delay."""
    desk = Desk()
    desk.enter(*names, **changes)
    return desk


def completing(*names: str, **changes: Any) -> Desk:
    """A group in its first generation that waits for the leader's assignment; the first name leads."""
    desk = preparing(*names, **changes)
    desk.wait_out()
    return desk


def stable(*names: str, **changes: Any) -> Desk:
    """A group in its first generation where everybody has its assignment, which is its name."""
    desk = completing(*names, **changes)
    share_out(desk)
    return desk


def share_out(desk: Desk) -> None:
    """Everybody syncs, the leader first; everybody is assigned its own name."""
    group = desk.known
    assert group.leader is not None
    desk.sync(
        group.leader, protocol=group.protocol, assignments=tuple((id_, id_.encode()) for id_ in group.members)
    )
    for member_id in group.members:
        desk.sync(member_id, protocol=group.protocol)
