"""Routing: the brokers that a client sees, and the one that it should use for a partition or a group.

Any broker serves any stream and any group; a leader is named so that caches stay warm and commits rarely
conflict. The names follow from the registered brokers alone, so brokers agree on them as soon as they see the
same registrations.

Two kinds of brokers reject requests for partitions that they do not lead: those that enforce ownership, and
those that are leaving the cluster. Both name the leader that Metadata names. While two brokers see different
registrations, each may name the other; clients then retry.

Only brokers that have the listener of the client are named to it. In Kafka a partition whose leader lacks
that listener has none for this client (LISTENER_NOT_FOUND); here another broker is its leader.
"""

from collections.abc import Sequence

from dray.cluster.brokers import BrokerInfo, LiveBrokers
from dray.cluster.settings import RoutingSettings
from dray.cluster.zones import Origin, preferred, visible_brokers, with_listener
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
        self._alive: Sequence[BrokerInfo] = ()
        self._zones: frozenset[str | None] = frozenset()
        self._visible: dict[Origin, Sequence[BrokerInfo]] = {}
        self._leaders: dict[tuple[Origin, StreamId], BrokerInfo] = {}

    @property
    def version(self) -> tuple[int, bool]:
        """A value that changes whenever the routes may."""
        return self._brokers.version, self._leaving

    def leave(self) -> None:
        """Stop naming this broker, as long as there is another one."""
        self._leaving = True
        self._computed_at = None

    def others(self) -> list[BrokerInfo]:
        return self._brokers.others(self._me.broker_id)

    def visible(self, origin: Origin) -> Sequence[BrokerInfo]:
        """Return the brokers that a client sees, all with its listener: those of its zone, else all."""
        self._refresh()
        return self._seen_from(self._known(origin))

    def listed(self, origin: Origin) -> Sequence[BrokerInfo]:
        """Return the brokers of a Metadata response: those that the client sees, and the one that answers.

        A client whose zone has no broker any more can then ask it again.
        """
        visible = self.visible(origin)
        if self._leaving or any(broker.broker_id == self._me.broker_id for broker in visible):
            return visible
        return [*visible, self._me]

    def leader(self, stream: StreamId, origin: Origin) -> BrokerInfo:
        """Return the broker that is named to clients of an origin as leader of a stream."""
        self._refresh()
        origin = self._known(origin)
        found = self._leaders.get((origin, stream))
        if found is None:
            found = preferred(self._seen_from(origin), stream.to_bytes(8, "big"))
            self._leaders[origin, stream] = found
        return found

    def coordinator(self, group_id: str, origin: Origin) -> BrokerInfo:
        """Return the broker that is named to clients of an origin as coordinator of a group."""
        return preferred(self.visible(origin), group_id.encode())

    def other_leader(self, stream: StreamId, origin: Origin) -> BrokerInfo | None:
        """Return the leader that must serve a stream in place of this broker; None if this one serves it."""
        if not (self._leaving or self._settings.enforce_owner):
            return None
        leader = self.leader(stream, origin)
        return None if leader.broker_id == self._me.broker_id else leader

    def _known(self, origin: Origin) -> Origin:
        """Return the origin, without its zone if that has no brokers: those clients see the same ones."""
        return origin if origin.zone in self._zones else origin._replace(zone=None)

    def _seen_from(self, origin: Origin) -> Sequence[BrokerInfo]:
        """Return what a client sees: there is always a broker, as this one has the client's listener."""
        found = self._visible.get(origin)
        if found is None:
            reachable = with_listener(self._alive, origin.listener) or [self._me]
            found = self._visible[origin] = visible_brokers(reachable, origin.zone)
        return found

    def _refresh(self) -> None:
        """Compute the routes again if the registrations have changed."""
        if self._computed_at == self._brokers.version and len(self._leaders) < _LEADERS_MAX:
            return
        self._computed_at = self._brokers.version
        self._alive = (self.others() if self._leaving else self._brokers.all()) or [self._me]
        self._zones = frozenset(broker.zone for broker in self._alive)
        self._visible = {}
        self._leaders = {}
