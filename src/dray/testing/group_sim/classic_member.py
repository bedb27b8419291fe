"""Simulated member of the classic protocol."""

from dray.groups.commands import Heartbeat, Join, Leave, LeavingMember, Sync
from dray.groups.results import JoinResult
from dray.groups.types import GroupError
from dray.testing.group_sim.members import REBALANCE_S, SESSION_S, UNREACHABLE, Member, SimulatedGroup


class ClassicMember(Member):
    """Revokes everything before it joins again, like clients with an eager assignor."""

    _commit_renews_session = True

    def __init__(self, name: str, group: SimulatedGroup) -> None:
        super().__init__(name, group)
        self._assigned: int | None = None
        """The number of partitions when it assigned them as the leader."""

    async def _step(self) -> None:
        if self._assigned not in (None, self._group.partitions()):
            self._assigned, self.epoch = None, 0
            self._owned.clear()
        if self.epoch <= 0:
            await self._join_and_sync()
            return
        if self._group.clock.monotonic() >= self._session_ends:
            self._forget()
            return
        await self._work()
        error, sent = await self._request(
            lambda groups, broker: groups.heartbeat(
                self._group.group_id, Heartbeat(self.member_id, None, self.epoch, broker)
            )
        )
        if error is GroupError.NONE:
            self._renew_session(sent)
        elif error is GroupError.REBALANCE_IN_PROGRESS:
            self._owned.clear()
            self.epoch = 0
        else:
            self._forget()

    async def leave(self) -> None:
        member_id = self.member_id
        self._forget()
        if member_id:
            await self._request(
                lambda groups, _: groups.leave(self._group.group_id, Leave((LeavingMember(member_id),)))
            )

    async def _join_and_sync(self) -> None:
        joined, sent = await self._request(
            lambda groups, broker: groups.join(self._group.group_id, self._join(broker))
        )
        if joined.error is GroupError.MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
            return
        if joined.error is not GroupError.NONE:
            self._forget()
            return
        self.member_id, self.epoch = joined.member_id, joined.generation
        self._assigned = self._group.partitions() if joined.members else None
        synced, sent = await self._request(
            lambda groups, broker: groups.sync(self._group.group_id, self._sync(joined, broker))
        )
        if synced.error is not GroupError.NONE:
            self.epoch = 0
            if synced.error is not GroupError.REBALANCE_IN_PROGRESS:
                self._forget()
            return
        self._renew_session(sent)
        try:
            await self._start_using(list(synced.assignment))
        except UNREACHABLE:
            self.epoch = 0  # it has not fetched its offsets; it joins again to do so
            raise

    def _join(self, broker: int) -> Join:
        return Join(
            member_id=self.member_id,
            instance_id=None,
            client_id=self.name,
            client_host="/sim",
            protocol_type="consumer",
            protocols=(("sim", b""),),
            session_timeout_ms=int(SESSION_S * 1000),
            rebalance_timeout_ms=int(REBALANCE_S * 1000),
            broker=broker,
            new_member_id=f"{self.name}-{self._incarnation}-{self._group.random.getrandbits(32):x}",
        )

    def _sync(self, joined: JoinResult, broker: int) -> Sync:
        members = [member.member_id for member in joined.members]
        shares = {
            member: bytes(range(index, self._group.partitions(), len(members)))
            for index, member in enumerate(members)
        }
        return Sync(
            joined.member_id, None, joined.generation, "consumer", "sim", tuple(shares.items()), broker
        )
