"""Watching a job: how far it is, and whether anybody works on it.

Spark waits for executors for as long as it takes and says nothing. There may be no workers, or they may be
busy for others; and a master that was started anew knows nothing of a session that is older than it. So
after a while it is told, and after a longer one Spark is ended: the job fails, and the next one starts it
again, with whoever is the master then. A session runs one job at a time: one that waited for another's tasks
would look as if nobody worked on it.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from dray.observe import get_logger
from dray.pipeline.spark.session import SparkHost
from dray.runtime import Clock

Note = Callable[[int, int], None]
"""Told how many tasks are done, and of how many."""
TOLD_AFTER_S: Final = 30.0
GIVEN_UP_AFTER_S: Final = 300.0
_LOOK_S: Final = 0.5
_log = get_logger("pipeline")


class Progress(NamedTuple):
    """Tasks of a job."""

    done: int = 0
    active: int = 0


class JobWatch:
    """Watches one job of a session."""

    def __init__(self, host: SparkHost, group: str, clock: Clock) -> None:
        self._host = host
        self._group = group
        self._clock = clock
        self.gave_up = ""
        """Why Spark was ended, if nobody worked on the job."""

    async def run(self, total: int, note: Note) -> None:
        """Tell of every step forward, until the job is over and this is cancelled."""
        seen, moved_at, told = 0, self._clock.monotonic(), False
        while not self.gave_up:
            await self._clock.sleep(_LOOK_S)
            now = await self._host.ask(progress_of, self._host.session, self._group)
            if now.active or now.done > seen or now.done >= total:
                moved_at, told = self._clock.monotonic(), False
            if now.done > seen:
                seen = now.done
                note(seen, total)
            waited_s = self._clock.monotonic() - moved_at
            if waited_s >= TOLD_AFTER_S and not told:
                _log.warning("spark_waits", for_s=round(waited_s), why=_nobody_works(self._host.master))
                told = True
            if waited_s >= GIVEN_UP_AFTER_S:
                self.gave_up = f"for {waited_s:.0f} s {_nobody_works(self._host.master)}"
                await self._host.ask(self._host.kill)


def _nobody_works(master: str) -> str:
    return f"no executor works for us: see that spark.master={master} is up and has workers with free cores"


def progress_of(session: SparkSession, group: str) -> Progress:
    """Return how far the jobs of a group are; nothing when Spark cannot be asked."""
    try:
        tracker = session.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    except (Py4JError, OSError):
        return Progress()
    found = [stage for stage in stages if stage]
    return Progress(
        sum(stage.numCompletedTasks for stage in found), sum(stage.numActiveTasks for stage in found)
    )
