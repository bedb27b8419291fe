"""A classic member that behaves like a client library: it remembers its id, generation and protocol.

Every method sends what a well-behaved member would, unless its arguments override that.
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
"""By name: raw bytes, a subscription, or the topics of one."""
Shares = Mapping["ClassicMember | str", bytes | Parts]
"""By member: raw bytes, or partitions."""
SESSION_MS: Final = 60_000
REBALANCE_MS: Final = 60_000
RANGE: Final[Protocols] = {"range": ("t",)}
_OWN: Final = "…"
"""Stands for the member's own value; None and "" are values of their own."""


class ClassicMember(Client):
    """A classic member."""

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
        member_id: str = _OWN,
        instance_id: str | None = _OWN,
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
        return self.ask(request, version, self._on_join_response)

    def sync(
        self,
        shares: Shares | None = None,
        version: int = 5,
        *,
        generation: int | None = None,
        member_id: str = _OWN,
        instance_id: str | None = _OWN,
        protocol_type: str | None = _OWN,
        protocol: str | None = _OWN,
    ) -> Call:
        request = SyncGroupRequest(
            group_id=self._own(self.group),
            generation_id=self.generation if generation is None else generation,
            member_id=self._id(member_id),
            group_instance_id=self._instance(instance_id),
            protocol_type=self.protocol_type if protocol_type == _OWN else protocol_type,
            protocol_name=self.protocol if protocol == _OWN else protocol,
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=whose if isinstance(whose, str) else whose.id, assignment=self._share(share)
                )
                for whose, share in (shares or {}).items()
            ],
        )
        return self.ask(request, version)

    def heartbeat(
        self,
        version: int = 4,
        *,
        generation: int | None = None,
        member_id: str = _OWN,
        instance_id: str | None = _OWN,
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
        member_id: str = _OWN,
        instance_id: str | None = _OWN,
        reason: str | None = None,
        others: tuple[tuple[str, str | None], ...] = (),
    ) -> Call:
        """Leave; `others` are more members in the same request, by member and instance id."""
        mine, instance_id = self._id(member_id), self._instance(instance_id)
        if version < 3:
            return self.ask(LeaveGroupRequest(group_id=self._own(self.group), member_id=mine), version)
        members = [MemberIdentity(member_id=mine, group_instance_id=instance_id, reason=reason)]
        members += [MemberIdentity(member_id=one, group_instance_id=other) for one, other in others]
        return self.ask(LeaveGroupRequest(group_id=self._own(self.group), members=members), version)

    def commit_as_member(self, offsets: Offsets, version: int = 9, *, generation: int | None = None) -> Call:
        """Commit as this member."""
        return self.commit(
            offsets,
            version,
            epoch=self.generation if generation is None else generation,
            member_id=self.id,
            instance_id=self.instance_id if version >= 7 else None,
        )

    def _on_join_response(self, response: JoinGroupResponse) -> None:
        if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.id = response.member_id
        if response.error_code == ErrorCode.NONE:
            self.generation = response.generation_id
            self.protocol = response.protocol_name

    def _id(self, given: str) -> str:
        return self.id if given == _OWN else given

    def _instance(self, given: str | None) -> str | None:
        return self.instance_id if given == _OWN else given

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


async def join_with_assigned_id(member: ClassicMember, version: int = 9) -> Call:
    """Join for the first time: once to get an id, and again with it; returns the second join."""
    await member.join(version)
    return member.join(version)


async def form_stable_group(script: Script, *members: ClassicMember, shares: Shares | None = None) -> None:
    """Form a stable group, led by the first member; summarized in one line."""
    names = ", ".join(member.name for member in members)
    with script.summarized(f"{names}: members of a stable group"):
        await _join_first(members[0])
        for count in range(1, len(members)):
            await _add_member(script, members[:count], members[count])
        await members[0].sync(_one_partition_each(members) if shares is None else shares)
        for follower in members[1:]:
            await follower.sync()
    script.note(f"{members[0].name} leads; generation {members[0].generation}")


async def _join_first(member: ClassicMember) -> None:
    """Join the first member of a group, which is admitted at once, or after the initial delay."""
    if member.instance_id is None:
        await member.join()
    await member.join()


async def _add_member(script: Script, present: tuple[ClassicMember, ...], member: ClassicMember) -> None:
    if member.instance_id is None:
        await member.join()
    joins = [member.join()]
    await script.pending(joins[0])
    for other in reversed(present):  # the leader last: the join that completes the phase is answered at once
        joins.append(other.join())
        if other is not present[0]:
            await script.pending(joins[-1])
    await script.responses_of(*reversed(joins))


def _one_partition_each(members: tuple[ClassicMember, ...]) -> Shares:
    return {member: {"t": [number]} for number, member in enumerate(members)}
