"""Schedule of faults: what happens to which node, when and for how long. A pure function of a seed.

The first faults are of all kinds, in random order; then kinds recur at random. Mostly a fault begins some
seconds after the last one has ended, so that its consequences can be measured; sometimes it begins before.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

from tests.chaos.cluster.topology import BROKERS, COMPACTOR, ETCD, OXIA, STORE

LEADER: Final = "leader"
"""The target that stands for etcd's leader at the time."""
_OVERLAP_PROBABILITY: Final = 0.25
_SHORTEST_PAUSE_S: Final = 1.5
_LONGEST_PAUSE_S: Final = 12.0
_PARTS: Final = 15
"""No fault or pause lasts longer than one of that many parts of the schedule, unless its kind requires it."""


class Kind(NamedTuple):
    """A kind of fault."""

    name: str
    lasts_s: tuple[float, float]
    targets: Sequence[str]
    values: tuple[float, float] = (0.0, 0.0)
    """The range of a number that the kind needs."""


_ONE_WAY: Final = (0.0, 3.0)
"""Both directions, only what the target sends, or only what it receives."""
_OUTAGE: Final = (0.0, 2.0)
"""A server that does not respond, or one that refuses connections."""

KINDS: Final = (
    Kind("kill broker", (0.5, 8), BROKERS),
    Kind("pause broker", (1, 12), BROKERS),
    Kind("kill etcd", (1, 8), (LEADER, LEADER, *ETCD)),
    Kind("pause etcd", (1, 8), (LEADER, *ETCD)),
    Kind("cut broker from etcd", (1.5, 12), BROKERS, _ONE_WAY),
    Kind("cut broker from store", (1.5, 12), BROKERS, _ONE_WAY),
    Kind("cut broker from clients", (1.5, 8), BROKERS, _ONE_WAY),
    Kind("cut etcd from etcd", (1.5, 8), (LEADER, *ETCD), _ONE_WAY),
    Kind("cut zones", (1.5, 10), ("a", "b"), _ONE_WAY),
    Kind("throttle store", (1.5, 12), (STORE,), (0.3, 0.95)),
    Kind("slow store", (1.5, 12), (STORE,), (0.05, 0.6)),
    Kind("slow disk", (1.5, 12), (LEADER, *ETCD), (5, 30)),
    Kind("clock jump", (1, 12), BROKERS, (-600, 600)),
    Kind("store down", (2, 30), (STORE,), _OUTAGE),
    Kind("etcd down", (2, 30), ("etcd",), _OUTAGE),
)
COMPACTOR_KINDS: Final = (
    Kind("kill compactor", (0.5, 8), (COMPACTOR,)),
    Kind("pause compactor", (1, 12), (COMPACTOR,)),
    Kind("cut compactor from etcd", (1.5, 12), (COMPACTOR,), _ONE_WAY),
    Kind("cut compactor from store", (1.5, 12), (COMPACTOR,), _ONE_WAY),
)
OXIA_KINDS: Final = (
    Kind("move oxia leaders", (0.5, 2), (OXIA,)),
    Kind("kill oxia", (0.5, 8), (OXIA,)),
    Kind("pause oxia", (1, 8), (OXIA,)),
    Kind("cut broker from oxia", (1.5, 12), BROKERS, _ONE_WAY),
)
COMPACTOR_OXIA_KINDS: Final = (Kind("cut compactor from oxia", (1.5, 12), (COMPACTOR,), _ONE_WAY),)
_ALL: Final = (*KINDS, *COMPACTOR_KINDS, *OXIA_KINDS, *COMPACTOR_OXIA_KINDS)
ALL_NAMES: Final = tuple(kind.name for kind in _ALL)
NAMES: Final = tuple(kind.name for kind in KINDS)


def kinds_with(metadata: str, *, compacting: bool) -> list[str]:
    """Return the kinds of faults that a cluster with this metadata store can have."""
    kinds = [*KINDS, *OXIA_KINDS]
    if compacting:
        kinds += [*COMPACTOR_KINDS, *COMPACTOR_OXIA_KINDS]
    servers = {"etcd", OXIA}
    needed = {kind.name: _servers_of(kind) & servers for kind in kinds}
    return [name for name, some in needed.items() if some <= {metadata}]


def _servers_of(kind: Kind) -> set[str]:
    return {*kind.name.split(), *(["etcd"] if kind.name == "slow disk" else [])}


class Fault(NamedTuple):
    """One fault; times are seconds from the start of the schedule."""

    at_s: float
    lasts_s: float
    kind: str
    target: str
    value: float

    @property
    def until_s(self) -> float:
        return self.at_s + self.lasts_s

    @property
    def variant(self) -> str:
        """How it happens, if its kind can happen in several ways."""
        if self.kind.startswith("cut"):
            return ("both ways", "what it sends", "what it receives")[int(self.value)]
        if self.kind.endswith("down"):
            return ("does not respond", "refuses connections")[int(self.value)]
        return ""

    def __str__(self) -> str:
        number = f"{self.value:.3g}" if self.value else ""
        how = self.variant or number
        return f"{self.kind}: {self.target}{f' ({how})' if how else ''}, {self.lasts_s:.1f} s"


def schedule(seed: int, seconds: float, names: Sequence[str] = NAMES) -> list[Fault]:
    """Return the faults that a seed stands for; all of them end within the given time."""
    kinds = [kind for kind in _ALL if kind.name in names]
    random = Random(seed)
    faults: list[Fault] = []
    begins_s = _SHORTEST_PAUSE_S
    for kind in _recurring(random, kinds):
        fault = _fault(random, kind, begins_s, seconds)
        if fault.until_s > seconds:
            return faults
        faults.append(fault)
        begins_s = _next(random, faults, seconds)
    return faults


def _recurring(random: Random, kinds: Sequence[Kind]) -> Iterator[Kind]:
    yield from random.sample(kinds, len(kinds))
    while kinds:
        yield random.choice(kinds)


def _fault(random: Random, kind: Kind, begins_s: float, seconds: float) -> Fault:
    least, most = kind.lasts_s
    lasts_s = random.uniform(least, max(least, min(most, seconds / _PARTS)))
    value = random.uniform(*kind.values)
    return Fault(
        round(begins_s, 3), round(lasts_s, 3), kind.name, random.choice(kind.targets), round(value, 3)
    )


def _next(random: Random, faults: Sequence[Fault], seconds: float) -> float:
    """Return when the next fault begins; at most two overlap."""
    last = faults[-1]
    ended_s = max((fault.until_s for fault in faults[:-1]), default=0.0)
    if ended_s <= last.at_s and random.random() < _OVERLAP_PROBABILITY:
        return random.uniform(last.at_s, last.until_s)
    longest_s = max(_SHORTEST_PAUSE_S, min(_LONGEST_PAUSE_S, seconds / _PARTS))
    return max(ended_s, last.until_s) + random.uniform(_SHORTEST_PAUSE_S, longest_s)
