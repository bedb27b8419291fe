"""Who is struck. Each strikes once, at a point of the compactor's work, and brings back what died.

`strike` returns where it happened; when the compactor does not come to the point in time, the victim is
struck all the same, and that is told as `ELSEWHERE`.
"""

import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from typing import Literal

from tests.chaos.compaction.doom import SELF, WORKERS, Order, struck, workers_below
from tests.chaos.compaction.points import can_halt, passes_max
from tests.chaos.compaction.processes import Life
from tests.chaos.compaction.scene import Scene, Stuck
from tests.pipeline.spark.processes import becomes_true

ELSEWHERE = "elsewhere"
_AWAY_S = 2.0
_WORKERS_S = 120.0
_WORKER_POINTS = tuple(f"{moment} {what}" for what in ("work", "put") for moment in ("before", "in", "after"))
_DEATHS = (1, 1, 1, 2, 9)
"""Of workers in one go: Spark tries each of three files three times."""

Strike = Callable[[Scene, str, Random], str]


def kill_compactor(scene: Scene, point: str, chosen: Random) -> str:
    (compactor,) = scene.compactors
    reached = scene.strikes(_order(point, chosen), compactor.order)
    if not reached:
        compactor.kill()
    else:
        compactor.fallen()
    compactor.start()
    return point if reached else ELSEWHERE


def kill_broker(scene: Scene, point: str, chosen: Random) -> str:
    return _kill_other(scene, chosen.choice(scene.brokers), point, chosen)


def kill_catalogue(scene: Scene, point: str, chosen: Random) -> str:
    assert scene.ground.catalogue is not None
    return _kill_other(scene, scene.ground.catalogue, point, chosen)


def kill_worker(scene: Scene, point: str, chosen: Random) -> str:
    """While Spark works, workers kill themselves; at other times they are killed as they wait."""
    compactor = scene.compactors[0]
    if " spark" not in point:
        # Spark ends them when they have had nothing to do for a minute, and an earlier blow may have.
        assert becomes_true(lambda: bool(workers_below(compactor.pid)[1]), _WORKERS_S), (
            "no worker was started"
        )
        reached = scene.strikes(_order(point, chosen, chosen.choice(WORKERS)), compactor.order)
        assert not reached or struck(compactor.order), "there was no worker to be killed"
        return point if reached else ELSEWHERE
    own = chosen.choice(_WORKER_POINTS)
    for _ in range(chosen.choice(_DEATHS)):
        if not scene.strikes(Order(own), compactor.worker_order):
            return ELSEWHERE
    return f"worker {own}"


def halt_compactor(scene: Scene, point: str, chosen: Random) -> str:
    """Halt one compactor until the other has taken over and gone on for a while, then let it go on too."""
    halted = chosen.choice(scene.compactors)
    reached = scene.strikes(_order(point, chosen, sign=signal.SIGSTOP), halted.order)
    if not reached:
        halted.halt()
    try:
        scene.wait("halted", lambda: halted.is_halted)
        with suppress(Stuck):  # it may have been halted with SQLite's lock in its hand: then nobody goes on
            for _ in range(chosen.randint(1, 3)):
                scene.wait_caught_up(30.0)
    finally:
        halted.resume()
    return point if reached else ELSEWHERE


def _kill_other(scene: Scene, victim: Life, point: str, chosen: Random) -> str:
    reached = scene.strikes(_order(point, chosen, str(victim.pid)), scene.compactors[0].order)
    if reached:
        victim.fallen()
    else:
        victim.kill()
    time.sleep(chosen.uniform(0, _AWAY_S))  # some are back before anybody notices, some are not
    victim.start()
    return point if reached else ELSEWHERE


def _order(point: str, chosen: Random, target: str = SELF, sign: signal.Signals = signal.SIGKILL) -> Order:
    return Order(point, chosen.randrange(passes_max(point)), target, sign)


Victim = Literal["compactor", "worker", "broker", "catalogue", "second"]
VICTIMS: Mapping[Victim, Strike] = {
    "compactor": kill_compactor,
    "worker": kill_worker,
    "broker": kill_broker,
    "catalogue": kill_catalogue,
    "second": halt_compactor,
}


def suits(victim: Victim, point: str) -> bool:
    """Whether a victim can be struck there."""
    return victim != "second" or can_halt(point)
