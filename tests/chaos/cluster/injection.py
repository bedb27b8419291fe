"""Injection of faults into a running cluster. Each function begins a fault and returns what ends it."""

from collections.abc import Callable, Sequence
from typing import Final

from tests.chaos.cluster.cluster import Cluster
from tests.chaos.cluster.network import Cut
from tests.chaos.cluster.schedule import LEADER, Fault
from tests.chaos.cluster.store import Orders, give
from tests.chaos.cluster.topology import CLIENTS, ETCD, OXIA, STORE, in_zone
from tests.meta.etcd_cluster import Member

End = Callable[[], None]
_LEADER_S: Final = 1.0


class Injector:
    """Begins faults of every kind."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._kinds: dict[str, Callable[[Fault, str], End]] = {
            "kill broker": self._kill,
            "pause broker": self._pause,
            "kill etcd": self._kill_etcd,
            "pause etcd": self._pause_etcd,
            "cut broker from etcd": lambda fault, target: self._cut(fault, [target], ETCD),
            "cut broker from store": lambda fault, target: self._cut(fault, [target], [STORE]),
            "cut broker from clients": lambda fault, target: self._cut(fault, [target], CLIENTS),
            "cut etcd from etcd": lambda fault, target: self._cut(
                fault, [target], [name for name in ETCD if name != target]
            ),
            "cut zones": lambda fault, target: self._cut(
                fault, in_zone(target), in_zone("b" if target == "a" else "a")
            ),
            "kill compactor": self._kill,
            "pause compactor": self._pause,
            "cut compactor from etcd": lambda fault, target: self._cut(fault, [target], ETCD),
            "cut compactor from store": lambda fault, target: self._cut(fault, [target], [STORE]),
            "throttle store": lambda fault, _: self._store(Orders(rejected=fault.value)),
            "slow store": lambda fault, _: self._store(Orders(delay_s=fault.value)),
            "slow disk": self._slow_disk,
            "move oxia leaders": self._move_leaders,
            "kill oxia": self._kill,
            "pause oxia": self._pause,
            "cut broker from oxia": lambda fault, target: self._cut(fault, [target], [OXIA]),
            "cut compactor from oxia": lambda fault, target: self._cut(fault, [target], [OXIA]),
            "clock jump": self._clock_jump,
            "store down": self._store_down,
            "etcd down": self._etcd_down,
        }

    def resolve(self, fault: Fault) -> str:
        """Return the node that a fault hits; without a leader it is the first member."""
        if fault.target != LEADER:
            return fault.target
        etcd = self._cluster.metadata.etcd
        assert etcd is not None
        try:
            return etcd.leader(_LEADER_S).name
        except RuntimeError:
            return ETCD[0]

    def begin(self, fault: Fault, target: str) -> End:
        return self._kinds[fault.kind](fault, target)

    def _kill(self, _: Fault, target: str) -> End:
        server = self._cluster.server(target)
        server.kill()
        return server.start

    def _pause(self, _: Fault, target: str) -> End:
        server = self._cluster.server(target)
        server.pause()
        return server.resume

    def _kill_etcd(self, _: Fault, target: str) -> End:
        return self._killed([self._cluster.metadata.member(target)])

    def _pause_etcd(self, _: Fault, target: str) -> End:
        return _paused([self._cluster.metadata.member(target)])

    def _etcd_down(self, fault: Fault, _: str) -> End:
        members = self._cluster.metadata.members
        return _paused(members) if fault.variant == "does not respond" else self._killed(members)

    def _killed(self, members: Sequence[Member]) -> End:
        etcd = self._cluster.metadata.etcd
        assert etcd is not None
        for member in members:
            member.kill()

        def end() -> None:
            for member in members:
                if member.process is None:
                    etcd.start_member(member)

        return end

    def _cut(self, fault: Fault, some: Sequence[str], others: Sequence[str]) -> End:
        sent: list[Cut] = [(one, other) for one in some for other in others]
        received: list[Cut] = [(other, one) for one, other in sent]
        cuts = {"both ways": sent + received, "what it sends": sent, "what it receives": received}[
            fault.variant
        ]
        self._cluster.network.cut(cuts)
        return lambda: self._cluster.network.restore(cuts)

    def _store(self, orders: Orders) -> End:
        give(self._cluster.store_home, orders)
        return lambda: give(self._cluster.store_home, Orders())

    def _store_down(self, fault: Fault, _: str) -> End:
        if fault.variant != "does not respond":
            return self._store(Orders(closed=True))
        self._cluster.store.pause()
        return self._cluster.store.resume

    def _slow_disk(self, fault: Fault, target: str) -> End:
        metadata = self._cluster.metadata
        return metadata.disks[target].slow(metadata.member(target), fault.value)

    def _move_leaders(self, _: Fault, __: str) -> End:
        """The leaders move at once, and again when the fault ends."""
        self._cluster.metadata.move_leaders()
        return self._cluster.metadata.move_leaders

    def _clock_jump(self, fault: Fault, target: str) -> End:
        clock = self._cluster.clocks[target]
        clock.move(fault.value)
        return lambda: clock.move(0)


def _paused(members: Sequence[Member]) -> End:
    paused = [member for member in members if member.process is not None]
    for member in paused:
        member.pause()

    def end() -> None:
        for member in paused:
            if member.process is not None:
                member.resume()

    return end
