"""Scenarios of the table simulation, which provoke faults that are rare otherwise."""

from dataclasses import dataclass
from random import Random

import msgspec

from dray.sweep import RetentionPolicy
from dray.testing.faulty_link import FaultyLinkSettings
from dray.testing.faulty_objects import ObjectFaults
from dray.testing.sim.world import SETTINGS as SMALL

ORPHAN_TTL_S = 8.0
LATE_S = 4.0
"""How late a request may still arrive after its sender timed out."""
FILE_GRACE_S = 3.0
STALL_SECONDS = (0.7, 1.5, 3.0, 2 * ORPHAN_TTL_S)
NO_FAULTS = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)

SETTINGS = msgspec.structs.replace(
    SMALL,
    flush_bytes=2_000,
    linger_ms=30,  # so that objects have records of several streams
    producer_snapshot_entries=3,
    index_cache_bytes_max=40_000,  # so that readers cache stale entries
    parquet_cache_bytes_max=800,
    orphan_ttl_ms=int(ORPHAN_TTL_S * 1000),
    file_gc_grace_ms=int(FILE_GRACE_S * 1000),
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Numbers of processes and clients, and the faults they meet."""

    domains: int
    partitions: int
    brokers: int
    compactors: int
    stall_odds: float = 0.3
    only_compactors_fail: bool = False
    faults_after_job_changes: int = 4
    stalls_before_commits: int = 0
    """Number of times a compactor stalls just before it commits to a table."""
    plain_producers: int = 2
    idempotent_producers: int = 1
    pause_factor: float = 1.0
    """Factor of the usual pauses of clients."""
    trims: int = 10
    """Number of times records are deleted."""
    travel_s_max: float = 0.01
    """Maximum duration of a request to the object store."""


def draw_scenario(choose: Random) -> Scenario:
    competing = Scenario(1, 3, 1, 2, stall_odds=0.8, only_compactors_fail=True, faults_after_job_changes=30)
    stalled_commits = Scenario(
        1,
        1,
        1,
        2,
        only_compactors_fail=True,
        faults_after_job_changes=0,
        stalls_before_commits=4,
        pause_factor=6.0,
    )
    sharing = Scenario(1, 3, 1, 1, trims=30, travel_s_max=0.2)
    mixed = Scenario(
        choose.choice((1, 2)),
        choose.choice((1, 2)),
        choose.choice((1, 2, 3)),
        choose.choice((1, 2)),
        plain_producers=choose.randint(1, 3),
        idempotent_producers=choose.randint(0, 2),
        trims=choose.choice((0, 15)),
        travel_s_max=choose.choice((0.005, 0.05)),
    )
    sequences = Scenario(1, 1, 2, 1, plain_producers=0, idempotent_producers=3, pause_factor=5.0, trims=0)
    return choose.choice((mixed, mixed, competing, competing, stalled_commits, sharing, sequences))


def draw_policy(choose: Random) -> RetentionPolicy:
    return RetentionPolicy(choose.choice((-1, 4_000, 8_000)), choose.choice((-1, 500, 2_000)))


def draw_link_faults(choose: Random) -> FaultyLinkSettings:
    probability = choose.choice((0.0, 0.01, 0.03))
    return FaultyLinkSettings(
        refused=probability,
        request_lost=probability,
        answer_lost=probability,
        late=probability,
        delay_ms=choose.choice((5.0, 30.0)),
        timeout_ms=80.0,
        late_ms=LATE_S * 1000,
    )


def draw_object_faults(choose: Random, travel_s_max: float) -> ObjectFaults:
    probability = choose.choice((0.0, 0.02, 0.1))
    return ObjectFaults(
        lost_request=probability,
        lost_answer=probability,
        late=probability,
        torn=probability,
        travel_max_s=travel_s_max,
        late_max_s=LATE_S,
    )
