"""What a seed is mostly about: every seed may have everything, but some troubles are rare unless provoked."""

from dataclasses import dataclass
from random import Random

import msgspec

from dray.objects.faulty import FaultSettings
from dray.sweep import RetentionPolicy
from dray.testing.faulty_link import FaultyLinkSettings
from dray.testing.sim.world import SETTINGS as SMALL

ORPHAN_TTL_S = 8.0
LATE_S = 4.0
"""How long after its sender gave up on it a request may still arrive."""
FILE_GRACE_S = 3.0
STALL_SECONDS = (0.7, 1.5, 3.0, 2 * ORPHAN_TTL_S)
NO_FAULTS = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)

SETTINGS = msgspec.structs.replace(
    SMALL,
    flush_bytes=2_000,
    linger_ms=30,  # so that objects hold records of several streams
    producer_snapshot_entries=3,
    index_cache_bytes_max=40_000,  # so that readers hold on to entries that are out of date
    parquet_cache_bytes_max=800,
    wal_orphan_ttl_ms=int(ORPHAN_TTL_S * 1000),
    file_gc_grace_ms=int(FILE_GRACE_S * 1000),
)


@dataclass(frozen=True, slots=True)
class Theme:
    """How many of whom, and what befalls them."""

    domains: int
    partitions: int
    brokers: int
    compactors: int
    stall_odds: float = 0.3
    only_compactors_suffer: bool = False
    ambushes: int = 4
    sleepers: int = 0
    """How often a compactor halts when it is about to commit to a table."""
    plain_producers: int = 2
    idempotent_producers: int = 1
    pace: float = 1.0
    """How many times as long clients wait as they usually do."""
    snips: int = 10
    """How often records are deleted."""
    travel_s: float = 0.01
    """How long a request to the object store may take."""


def theme_of(choose: Random) -> Theme:
    rivals = Theme(1, 3, 1, 2, stall_odds=0.8, only_compactors_suffer=True, ambushes=30)
    sleepers = Theme(1, 1, 1, 2, only_compactors_suffer=True, ambushes=0, sleepers=4, pace=6.0)
    sharing = Theme(1, 3, 1, 1, snips=30, travel_s=0.2)
    anything = Theme(
        choose.choice((1, 2)),
        choose.choice((1, 2)),
        choose.choice((1, 2, 3)),
        choose.choice((1, 2)),
        plain_producers=choose.randint(1, 3),
        idempotent_producers=choose.randint(0, 2),
        snips=choose.choice((0, 15)),
        travel_s=choose.choice((0.005, 0.05)),
    )
    sequences = Theme(1, 1, 2, 1, plain_producers=0, idempotent_producers=3, pace=5.0, snips=0)
    return choose.choice((anything, anything, rivals, rivals, sleepers, sharing, sequences))


def policy_of(choose: Random) -> RetentionPolicy:
    return RetentionPolicy(choose.choice((-1, 4_000, 8_000)), choose.choice((-1, 500, 2_000)))


def link_faults(choose: Random) -> FaultyLinkSettings:
    often = choose.choice((0.0, 0.01, 0.03))
    return FaultyLinkSettings(
        refused=often,
        request_lost=often,
        answer_lost=often,
        late=often,
        delay_ms=choose.choice((5.0, 30.0)),
        timeout_ms=80.0,
        late_ms=LATE_S * 1000,
    )


def object_faults(choose: Random, travel_s: float) -> FaultSettings:
    often = choose.choice((0.0, 0.02, 0.1))
    return FaultSettings(
        lost_request=often,
        lost_answer=often,
        late=often,
        torn=often,
        travel_max_s=travel_s,
        late_max_s=LATE_S,
    )
