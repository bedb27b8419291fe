"""Routing: the brokers that a client sees, and the one that it should use for a partition or a group.

Any broker serves any stream and any group; a leader is named so that caches stay warm and commits rarely
conflict. The names follow from the registered brokers alone, so brokers agree on them as soon as they see the
same registrations.

Two kinds of brokers reject requests for partitions that they do not lead: those that enforce ownership, and
those that are leaving the cluster. Both name the leader that Metadata names. While two brokers see different
registrations, each may name the other; clients then retry.
"""

from collections.abc import Sequence

from dray.cluster.brokers import BrokerInfo, LiveBrokers
from dray.cluster.settings import RoutingSettings
from dray.cluster.zones import preferred, visible_brokers
from dray.ids import StreamId

_LEADERS_MAX = 100_000
"""Streams of deleted topics are cached until then, or until the registrations change."""


class Routing:
    """The routes as this broker, `me`, names them."""

    def __init__(self, brokers: LiveBrokers, me: BrokerInfo, settings: RoutingSettings) -> None:
        self._brokers = brokers
        self._me = me
        self._settings = settings
        self._leaving = False
        self._computed_at: int | None = None
        self._visible: dict[str | None, Sequence[BrokerInfo]] = {}
        self._leaders: dict[tuple[str | None, StreamId], BrokerInfo] = {}

    def leave(self) -> None:
        """Stop naming this broker, as long as there is another one."""
        self._leaving = True
        self._computed_at = None

    def others(self) -> list[BrokerInfo]:
        return self._brokers.others(self._me.broker_id)

    def visible(self, zone: str | None) -> Sequence[BrokerInfo]:
        """Return the brokers that a client sees: those of its zone, else all, else this one."""
        self._refresh()
        return self._visible[self._zone(zone)]

    def listed(self, zone: str | None) -> Sequence[BrokerInfo]:
        """Return the brokers of a Metadata response: those that the client sees, and the one that answers.

        A client whose zone has no broker any more can then ask it again.
        """
        visible = self.visible(zone)
        if self._leaving or any(broker.broker_id == self._me.broker_id for broker in visible):
            return visible
        return [*visible, self._me]

    def leader(self, stream: StreamId, zone: str | None) -> BrokerInfo:
        """Return the broker that is named to clients of a zone as leader of a stream."""
        self._refresh()
        zone = self._zone(zone)
        found = self._leaders.get((zone, stream))
        if found is None:
            found = preferred(self._visible[zone], stream.to_bytes(8, "big"))
            self._leaders[zone, stream] = found
        return found

    def coordinator(self, group_id: str, zone: str | None) -> BrokerInfo:
        """Return the broker that is named to clients of a zone as coordinator of a group."""
        return preferred(self.visible(zone), group_id.encode())

    def other_leader(self, stream: StreamId, zone: str | None) -> BrokerInfo | None:
        """Return the leader that must serve a stream in place of this broker; None if this one serves it."""
        if not (self._leaving or self._settings.enforce_owner):
            return None
        leader = self.leader(stream, zone)
        return None if leader.broker_id == self._me.broker_id else leader

    def _zone(self, zone: str | None) -> str | None:
        """Return the zone if it has brokers; clients of all others see the same ones."""
        return zone if zone in self._visible else None

    def _refresh(self) -> None:
        """Compute the routes again if the registrations have changed."""
        if self._computed_at == self._brokers.version and len(self._leaders) < _LEADERS_MAX:
            return
        self._computed_at = self._brokers.version
        alive = (self.others() if self._leaving else self._brokers.all()) or [self._me]
        zones = {None, *(broker.zone for broker in alive)}
        self._visible = {zone: visible_brokers(alive, zone) for zone in zones}
        self._leaders = {}
