"""Simulated member of the consumer protocol."""

from dray.groups.commands import ConsumerHeartbeat
from dray.groups.results import ConsumerHeartbeatResult
from dray.groups.types import GroupError
from dray.testing.group_sim.brokers import TOPIC, TOPIC_ID
from dray.testing.group_sim.members import HEARTBEAT_S, REBALANCE_S, Member, SimulatedGroup


class ConsumerMember(Member):
    """Revokes what it is asked to, and reports so."""

    def __init__(self, name: str, group: SimulatedGroup) -> None:
        super().__init__(name, group)
        self._joined = False

    async def _step(self) -> None:
        if self._joined and self._group.clock.monotonic() >= self._session_ends:
            self._forget()
        if self._joined:
            await self._work()
        result, sent = await self._request(
            lambda groups, broker: groups.consumer_heartbeat(self._group.group_id, self._heartbeat(broker))
        )
        if result.error is not GroupError.NONE:
            self._forget()
            return
        self._joined, self.epoch = True, result.epoch
        self._renew_session(sent)
        await self._apply_assignment(result)

    def _forget(self) -> None:
        super()._forget()
        self._joined = False

    async def leave(self) -> None:
        was_in, member_id = self._joined, self.member_id
        self._forget()
        if was_in:
            command = self._heartbeat(0, member_id=member_id, epoch=-1)
            await self._request(lambda groups, _: groups.consumer_heartbeat(self._group.group_id, command))

    async def _apply_assignment(self, result: ConsumerHeartbeatResult) -> None:
        if result.assignment is None:
            return
        assigned = set(result.assignment.get(TOPIC_ID, ()))
        if dropped := self._owned.keys() - assigned:
            # A client finishes its work on a partition before it revokes it.
            await self._group.clock.sleep(self._group.random.uniform(0, HEARTBEAT_S))
            for partition in dropped:
                self._owned.pop(partition, None)
        if new := sorted(assigned - self._owned.keys()):
            await self._start_using(new)

    def _heartbeat(
        self, broker: int, member_id: str | None = None, epoch: int | None = None
    ) -> ConsumerHeartbeat:
        if not self.member_id:
            self.member_id = f"{self.name}-{self._incarnation}"
        joins = not self._joined
        return ConsumerHeartbeat(
            group_id=self._group.group_id,
            member_id=member_id or self.member_id,
            epoch=(0 if joins else self.epoch) if epoch is None else epoch,
            instance_id=None,
            rack_id=None,
            rebalance_timeout_ms=int(REBALANCE_S * 1000),
            names=(TOPIC,),
            regex=None,
            assignor=None,
            owned={TOPIC_ID: tuple(sorted(self._owned))} if self._owned and not joins else {},
            client_id=self.name,
            client_host="/sim",
            broker=broker,
        )
