"""A member of a classic group, as a client library behaves: it remembers its id, generation and protocol.

Every verb sends what a well-behaved member would, unless told otherwise.
"""

from collections.abc import Mapping
from typing import Any, Final

from dray.wire import ErrorCode
from dray.wire.apis.heartbeat import HeartbeatRequest
from dray.wire.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from dray.wire.apis.leave_group import LeaveGroupRequest, MemberIdentity
from dray.wire.apis.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.groups.golden.client import GROUP, Client, Offsets, Parts
from tests.groups.golden.embedded import Assigned, Subscription
from tests.groups.golden.script import Call, Script

Protocols = Mapping[str, bytes | Subscription | tuple[str, ...]]
"""By name: bytes as they are, a subscription, or the topics of one."""
Shares = Mapping["ClassicMember | str", bytes | Parts]
"""What each member gets: bytes as they are, or partitions."""
SESSION_MS: Final = 60_000
REBALANCE_MS: Final = 60_000
RANGE: Final[Protocols] = {"range": ("t",)}
_FROM_ME: Final = "…"
"""Stands for what the member knows itself; None and "" mean something else."""


class ClassicMember(Client):
    """Joins, syncs, beats, leaves."""

    def __init__(
        self,
        script: Script,
        name: str,
        *,
        instance_id: str | None = None,
        protocols: Protocols = RANGE,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        group: str = GROUP,
    ) -> None:
        super().__init__(script, name, group)
        self.instance_id = instance_id
        self.protocols = protocols
        self.session_ms = session_ms
        self.rebalance_ms = rebalance_ms
        self.id = ""
        self.generation = -1
        self.protocol: str | None = None
        self.protocol_type = "consumer"

    def join(
        self,
        version: int = 9,
        *,
        member_id: str = _FROM_ME,
        instance_id: str | None = _FROM_ME,
        protocols: Protocols | None = None,
        protocol_type: str = "consumer",
        reason: str | None = None,
    ) -> Call:
        if protocols is not None:
            self.protocols = protocols
        self.protocol_type = protocol_type
        request = JoinGroupRequest(
            group_id=self._own(self.group),
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=self.rebalance_ms,
            member_id=self._id(member_id),
            group_instance_id=self._instance(instance_id),
            protocol_type=protocol_type,
            protocols=[
                JoinGroupRequestProtocol(name=name, metadata=self._metadata(of))
                for name, of in self.protocols.items()
            ],
            reason=reason,
        )
        return self.ask(request, version, self._joined)

    def sync(
        self,
        shares: Shares | None = None,
        version: int = 5,
        *,
        generation: int | None = None,
        member_id: str = _FROM_ME,
        instance_id: str | None = _FROM_ME,
        protocol_type: str | None = _FROM_ME,
        protocol: str | None = _FROM_ME,
    ) -> Call:
        request = SyncGroupRequest(
            group_id=self._own(self.group),
            generation_id=self.generation if generation is None else generation,
            member_id=self._id(member_id),
            group_instance_id=self._instance(instance_id),
            protocol_type=self.protocol_type if protocol_type == _FROM_ME else protocol_type,
            protocol_name=self.protocol if protocol == _FROM_ME else protocol,
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=whose if isinstance(whose, str) else whose.id, assignment=self._share(share)
                )
                for whose, share in (shares or {}).items()
            ],
        )
        return self.ask(request, version)

    def beat(
        self,
        version: int = 4,
        *,
        generation: int | None = None,
        member_id: str = _FROM_ME,
        instance_id: str | None = _FROM_ME,
    ) -> Call:
        request = HeartbeatRequest(
            group_id=self._own(self.group),
            generation_id=self.generation if generation is None else generation,
            member_id=self._id(member_id),
            group_instance_id=self._instance(instance_id),
        )
        return self.ask(request, version)

    def leave(
        self,
        version: int = 5,
        *,
        member_id: str = _FROM_ME,
        instance_id: str | None = _FROM_ME,
        reason: str | None = None,
        others: tuple[tuple[str, str | None], ...] = (),
    ) -> Call:
        """Leave; `others` are further members, by member and instance id, in the same request."""
        mine, instance_id = self._id(member_id), self._instance(instance_id)
        if version < 3:
            return self.ask(LeaveGroupRequest(group_id=self._own(self.group), member_id=mine), version)
        members = [MemberIdentity(member_id=mine, group_instance_id=instance_id, reason=reason)]
        members += [MemberIdentity(member_id=one, group_instance_id=other) for one, other in others]
        return self.ask(LeaveGroupRequest(group_id=self._own(self.group), members=members), version)

    def commit_mine(self, offsets: Offsets, version: int = 9, *, generation: int | None = None) -> Call:
        """Commit as the member that this is."""
        return self.commit(
            offsets,
            version,
            epoch=self.generation if generation is None else generation,
            member_id=self.id,
            instance_id=self.instance_id if version >= 7 else None,
        )

    def _joined(self, response: JoinGroupResponse) -> None:
        if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.id = response.member_id
        if response.error_code == ErrorCode.NONE:
            self.generation = response.generation_id
            self.protocol = response.protocol_name

    def _id(self, given: str) -> str:
        return self.id if given == _FROM_ME else given

    def _instance(self, given: str | None) -> str | None:
        return self.instance_id if given == _FROM_ME else given

    def _metadata(self, of: Any) -> bytes:
        if isinstance(of, bytes):
            return of
        if isinstance(of, tuple):
            of = Subscription(of)
        return Subscription(
            tuple(map(self._own, of.topics)),
            of.version,
            of.user_data,
            {self._own(topic): numbers for topic, numbers in of.owned.items()},
            of.generation,
            of.rack,
        ).encode()

    def _share(self, share: bytes | Parts) -> bytes:
        if isinstance(share, bytes):
            return share
        return Assigned({self._own(topic): numbers for topic, numbers in share.items()}).encode()


async def admitted(member: ClassicMember, version: int = 9) -> Call:
    """Join for the first time, with the id that is asked for; returns the join that counts."""
    await member.join(version)
    return member.join(version)


async def form(script: Script, *members: ClassicMember, shares: Shares | None = None) -> None:
    """Make members a stable group, the first of them its leader; written down in one line."""
    names = ", ".join(member.name for member in members)
    with script.offstage(f"{names}: members of a stable group"):
        await _enter(members[0])
        for count in range(1, len(members)):
            await _let_in(script, members[:count], members[count])
        await members[0].sync(_everybody(members) if shares is None else shares)
        for follower in members[1:]:
            await follower.sync()
    script.note(f"{members[0].name} leads; generation {members[0].generation}")


async def _enter(member: ClassicMember) -> None:
    """The first member of a group: it is let in at once, or when the initial delay is over."""
    if member.instance_id is None:
        await member.join()
    await member.join()


async def _let_in(script: Script, present: tuple[ClassicMember, ...], member: ClassicMember) -> None:
    if member.instance_id is None:
        await member.join()
    joins = [member.join()]
    await script.parked(joins[0])
    for other in reversed(present):  # the leader last: whoever completes the phase is answered at once
        joins.append(other.join())
        if other is not present[0]:
            await script.parked(joins[-1])
    await script.answered(*reversed(joins))


def _everybody(members: tuple[ClassicMember, ...]) -> Shares:
    return {member: {"t": [number]} for number, member in enumerate(members)}
