"""Victims of compaction faults: each function injects one fault at a failpoint and restarts the victim.

It returns the point at which the fault happened, or `ELSEWHERE` if the compactor did not reach the point in
time and the victim was killed or paused regardless.
"""

import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from typing import Literal

from tests.chaos.compaction.cluster import Cluster, NoProgress
from tests.chaos.compaction.failpoints import SELF, WORKERS, Trigger, fired, spark_processes
from tests.chaos.compaction.points import can_pause, passes_max
from tests.chaos.compaction.processes import ServerProcess
from tests.spark.processes import becomes_true

ELSEWHERE = "elsewhere"
_DOWN_S = 2.0
_WORKERS_S = 120.0
_WORKER_POINTS = tuple(f"{moment} {what}" for what in ("work", "put") for moment in ("before", "in", "after"))
_WORKER_KILLS = (1, 1, 1, 2, 9)
"""Workers to kill one after the other: Spark attempts each of three files three times."""

Inject = Callable[[Cluster, str, Random], str]


def kill_compactor(cluster: Cluster, point: str, random: Random) -> str:
    (compactor,) = cluster.compactors
    reached = cluster.fires(_trigger(point, random), compactor.armed)
    if not reached:
        compactor.kill()
    else:
        compactor.wait_killed()
    compactor.start()
    return point if reached else ELSEWHERE


def kill_broker(cluster: Cluster, point: str, random: Random) -> str:
    return _kill_other(cluster, random.choice(cluster.brokers), point, random)


def kill_catalog(cluster: Cluster, point: str, random: Random) -> str:
    assert cluster.deployment.catalog is not None
    return _kill_other(cluster, cluster.deployment.catalog, point, random)


def kill_worker(cluster: Cluster, point: str, random: Random) -> str:
    """While Spark runs tasks, workers kill themselves at their own failpoints; idle workers are killed."""
    compactor = cluster.compactors[0]
    if " spark" not in point:
        # Spark ends workers that were idle for a minute, and an earlier fault may have killed them.
        assert becomes_true(lambda: bool(spark_processes(compactor.pid)[1]), _WORKERS_S), (
            "no worker was started"
        )
        reached = cluster.fires(_trigger(point, random, random.choice(WORKERS)), compactor.armed)
        assert not reached or fired(compactor.armed), "there was no worker to kill"
        return point if reached else ELSEWHERE
    own = random.choice(_WORKER_POINTS)
    for _ in range(random.choice(_WORKER_KILLS)):
        if not cluster.fires(Trigger(own), compactor.worker_armed):
            return ELSEWHERE
    return f"worker {own}"


def pause_compactor(cluster: Cluster, point: str, random: Random) -> str:
    """Pause one compactor until the other has taken over and worked for a while, then resume it."""
    paused = random.choice(cluster.compactors)
    reached = cluster.fires(_trigger(point, random, sign=signal.SIGSTOP), paused.armed)
    if not reached:
        paused.pause()
    try:
        cluster.wait("paused", lambda: paused.is_paused)
        with suppress(NoProgress):  # if it was paused while it held SQLite's lock, nothing can commit
            for _ in range(random.randint(1, 3)):
                cluster.wait_caught_up(30.0)
    finally:
        paused.resume()
    return point if reached else ELSEWHERE


def _kill_other(cluster: Cluster, victim: ServerProcess, point: str, random: Random) -> str:
    reached = cluster.fires(_trigger(point, random, str(victim.pid)), cluster.compactors[0].armed)
    if reached:
        victim.wait_killed()
    else:
        victim.kill()
    time.sleep(random.uniform(0, _DOWN_S))  # sometimes too short to be noticed, sometimes not
    victim.start()
    return point if reached else ELSEWHERE


def _trigger(
    point: str, random: Random, target: str = SELF, sign: signal.Signals = signal.SIGKILL
) -> Trigger:
    return Trigger(point, random.randrange(passes_max(point)), target, sign)


Victim = Literal["compactor", "worker", "broker", "catalog", "second"]
VICTIMS: Mapping[Victim, Inject] = {
    "compactor": kill_compactor,
    "worker": kill_worker,
    "broker": kill_broker,
    "catalog": kill_catalog,
    "second": pause_compactor,
}


def allows(victim: Victim, point: str) -> bool:
    """Whether a fault of this victim can be injected at the point."""
    return victim != "second" or can_pause(point)
