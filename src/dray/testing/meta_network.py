"""Simulated network of a replicated metadata store, such as etcd or Oxia, whose faults follow from a seed.

    client ── link: requests ──▶ route ──▶ store
           ◀─ feed: changes ───

Each client has a *route* of its own, which outlives its process:

    slow          a latency for each direction, with a long tail; some exceed the caller's timeout
    cut           requests do not arrive, or responses do not return, or neither; a request may also be held
                  and arrive when the route is restored, long after its caller has timed out
    lag           changes reach the client's watches late, merged, while its reads are current

All share the store's *leader*. While a new one is elected, requests are refused, lost, or queued for the new
leader, and what the old one had executed but not answered stays unanswered. The new leader restarts all
sessions, as etcd and Oxia do. Sessions expire in the store as always, whether or not their owner is cut off.

A watch that gets no response is silent, and begins to fail only after a while. It then resumes where it was,
or has a gap. What the store executes is atomic and in order, so reads stay linearizable.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Final, Literal, TypeVar

from dray.meta.memory import MemoryMetaServer, ResponseLost
from dray.meta.port import ChangeBatch, MetaError, Unavailable
from dray.runtime import Clock, Entropy
from dray.testing.faulty_link import InFlight

T = TypeVar("T")
Cut = Literal["requests", "responses", "both"]
Kind = Literal["cut", "lag", "election"]

_TAIL_MAX: Final = 300.0
"""The longest latency, as a multiple of the usual one."""
_HELD_ODDS: Final = 0.3
"""Of requests that do not arrive, those that arrive once the route is restored."""
_GAP_AFTER_BREAK_ODDS: Final = 0.5
_FEED_PAUSE_S: Final = 0.1
_KINDS: Final[tuple[tuple[Kind, ...], ...]] = (
    ("cut",),
    ("lag",),
    ("cut", "cut", "lag"),
    ("election", "lag"),
    ("cut", "cut", "lag", "lag", "election"),
)
"""Faults of one seed. Some hide others: an election prolongs the sessions of clients that are cut off."""


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Times in seconds."""

    timeout_s: float = 0.3
    """Time after which a caller takes the response for lost."""
    silence_max_s: float = 2.0
    """How long a watch may be silent before it fails."""
    cut_max_s: float = 6.0
    election_max_s: float = 2.0
    lag_max_s: float = 4.0
    tail: float = 0.5
    """Exponent of the distribution of latencies; the larger, the longer its tail."""
    gap_odds: float = 0.02
    """Of batches of changes, those that report only that there were some."""
    pause_max_s: float = 2.0
    """Longest time between two faults."""
    kinds: tuple[Kind, ...] = ("cut", "lag", "election")
    """Faults that happen."""


@dataclass(slots=True)
class Route:
    """The path between one client and the store, at the moment."""

    name: str
    there_s: float
    back_s: float
    """Usual latencies of a request and of its response."""
    cut: Cut | None = None
    lag_s: float = 0.0
    """Maximum delay of a change."""
    held: list[Callable[[], None]] = field(default_factory=list)
    """Requests that arrive when the route is restored."""

    @property
    def loses_requests(self) -> bool:
        return self.cut in ("requests", "both")

    @property
    def loses_responses(self) -> bool:
        return self.cut in ("responses", "both")


class MetaNetwork:
    """The routes of all clients, and the leader of the store."""

    def __init__(
        self,
        server: MemoryMetaServer,
        clock: Clock,
        choose: Random,
        note: Callable[[str], None],
        settings: NetworkSettings,
    ) -> None:
        self.settings = settings
        self.calm = False
        """Whether the faults have ended; latencies and lags are then short."""
        self.term = 0
        """The number of elections so far."""
        self.electing = False
        self._server = server
        self._clock = clock
        self._choose = choose
        self._note = note
        self._routes: dict[str, Route] = {}
        self._queued: list[Callable[[], None]] = []

    def connect(self, name: str, entropy: Entropy, clock: Clock) -> "NetworkClient":
        """Connect a process. All processes of one name use the same route, one after the other."""
        return NetworkClient(self, self._route(name), entropy, clock)

    async def disturb(self) -> None:
        """Inject faults until `heal`."""
        while not self.calm:
            await self._clock.sleep(self._choose.uniform(0.1, self.settings.pause_max_s))
            if self._routes and not self.calm:
                self._inject(self._choose.choice(self.settings.kinds))

    async def disturb_for(self, seconds: float) -> None:
        """Inject faults for a time, then end them all."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.disturb()
        self.heal()

    def heal(self) -> None:
        """End all faults."""
        self.calm = True
        for route in self._routes.values():
            self._restore(route)
            route.lag_s = 0.0
        if self.electing:
            self._end_election(self.term)

    def enqueue(self, call: Callable[[], None]) -> None:
        """Keep a request for the leader that is being elected."""
        self._queued.append(call)

    def _route(self, name: str) -> Route:
        if name not in self._routes:
            usual = (0.0005, 0.002, 0.01, 0.03)
            self._routes[name] = Route(name, self._choose.choice(usual), self._choose.choice(usual))
        return self._routes[name]

    # Faults

    def _inject(self, kind: Kind) -> None:
        if kind == "cut":
            self._cut()
        elif kind == "lag":
            self._lag()
        elif not self.electing:
            self._elect()

    def _cut(self) -> None:
        """Cut off one client, or several in the same way."""
        cuts: tuple[Cut, ...] = ("requests", "responses", "both", "both")
        cut, seconds = self._choose.choice(cuts), self._draw_s(self.settings.cut_max_s)
        for route in self._some_routes():
            if route.cut is not None:
                continue
            self._note(f"cut {route.name} off the metadata store ({cut}) for {seconds:.1f} s")
            route.cut = cut
            self._later(seconds, partial(self._restore, route))

    def _lag(self) -> None:
        """Delay the changes for one client or several."""
        lag_s, seconds = self._draw_s(self.settings.lag_max_s), self._choose.uniform(1.0, 8.0)
        for route in self._some_routes():
            self._note(f"delay changes for {route.name} by up to {lag_s:.1f} s for {seconds:.1f} s")
            route.lag_s = lag_s
            self._later(seconds, partial(self._catch_up, route))

    def _elect(self) -> None:
        """Lose the leader; another one is elected after a while."""
        seconds = self._draw_s(self.settings.election_max_s)
        self._note(f"the metadata store has no leader for {seconds:.1f} s")
        self.electing = True
        self.term += 1
        self._server.restart_sessions(seconds)
        self._later(seconds, partial(self._end_election, self.term))

    def _restore(self, route: Route) -> None:
        route.cut = None
        held, route.held = route.held, []
        for arrive in held:
            arrive()

    def _catch_up(self, route: Route) -> None:
        route.lag_s = 0.0

    def _end_election(self, term: int) -> None:
        if not self.electing or term != self.term:
            return
        self.electing = False
        queued, self._queued = self._queued, []
        for execute in queued:
            execute()

    def _some_routes(self) -> Sequence[Route]:
        routes = list(self._routes.values())
        return self._choose.sample(routes, self._choose.choice((1, 1, self._choose.randint(1, len(routes)))))

    def _draw_s(self, seconds_max: float) -> float:
        """Draw a duration, short ones more often."""
        return float(seconds_max * max(0.02, self._choose.random() ** 1.5))

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(seconds, call, context=Context())


class NetworkClient:
    """The connections of one process to the store: a `Link`, and the feed of its watches."""

    def __init__(self, network: MetaNetwork, route: Route, entropy: Entropy, clock: Clock) -> None:
        self._network = network
        self._route = route
        self._entropy = entropy
        self._clock = clock

    async def call(self, request: Callable[[], T]) -> T:
        flight = InFlight(request, asyncio.get_running_loop())
        flight.later(self._latency(self._route.there_s), partial(self._arrive, flight))
        flight.fail_after(self._network.settings.timeout_s, ResponseLost())
        return await flight.response

    async def receive(self, request: Callable[[], ChangeBatch]) -> ChangeBatch:
        """Return the response to a request for changes, late; raises `Unavailable` after a long silence."""
        silent_from = self._clock.monotonic()
        broken = False
        while True:
            try:
                batch = await self.call(request)
            except (ResponseLost, MetaError) as error:
                if self._clock.monotonic() - silent_from > self._network.settings.silence_max_s:
                    raise Unavailable("the watch was interrupted for too long") from error
                broken = True
                await self._clock.sleep(self._entropy.uniform(0, _FEED_PAUSE_S))
                continue
            await self._clock.sleep(self._entropy.uniform(0, self._route.lag_s))
            return self._received(batch, broken=broken)

    def _received(self, batch: ChangeBatch, *, broken: bool) -> ChangeBatch:
        """Merge the changes of each key, or lose all of them."""
        gap_odds = _GAP_AFTER_BREAK_ODDS if broken else self._network.settings.gap_odds
        if not self._network.calm and self._draw(gap_odds):
            return ChangeBatch(batch.position, gap=True)
        last = {change.key: change for change in batch.changes}
        merged = tuple(change for change in batch.changes if last[change.key] is change)
        return ChangeBatch(batch.position, merged, batch.gap)

    def _arrive(self, flight: InFlight[T]) -> None:
        """Execute a request in the store, unless the network or the store prevents it."""
        network, route = self._network, self._route
        if route.loses_requests:
            if self._draw(_HELD_ODDS):
                route.held.append(partial(self._arrive, flight))
            return
        if not network.electing:
            respond = flight.execute()
            self._answer(flight, partial(self._respond, network.term, respond))
            return
        drawn = self._entropy.uniform(0, 1)
        if drawn < 0.4:
            refuse = partial(flight.fail_after, 0, Unavailable("the store has no leader"))
            self._answer(flight, partial(self._respond, network.term, refuse))
        elif drawn < 0.7:
            network.enqueue(partial(self._arrive, flight))

    def _answer(self, flight: InFlight[T], respond: Callable[[], None]) -> None:
        flight.later(self._latency(self._route.back_s), respond)

    def _respond(self, term: int, respond: Callable[[], None]) -> None:
        if not self._route.loses_responses and term == self._network.term:
            respond()

    def _latency(self, usual_s: float) -> float:
        if self._network.calm:
            return usual_s
        rank = max(self._entropy.uniform(0, 1), 1e-9)
        return float(usual_s * min(rank**-self._network.settings.tail, _TAIL_MAX))

    def _draw(self, odds: float) -> bool:
        return self._entropy.uniform(0, 1) < odds


def draw_network(choose: Random, *, lag_max_s: float = 4.0, silence_max_s: float = 2.0) -> NetworkSettings:
    """Draw how bad the network of one seed is."""
    return NetworkSettings(
        cut_max_s=choose.choice((1.0, 4.0, 10.0)),
        election_max_s=choose.choice((0.3, 3.0)),
        lag_max_s=lag_max_s * choose.choice((0.2, 1.0)),
        silence_max_s=silence_max_s,
        tail=choose.choice((0.3, 0.6, 0.9)),
        gap_odds=choose.choice((0.0, 0.02, 0.2)),
        pause_max_s=choose.choice((0.5, 2.0)),
        kinds=choose.choice(_KINDS),
    )
