"""Monitor of a Spark job: its progress, and whether executors work on it.

Spark waits for executors indefinitely and silently. There may be no workers, or all may be busy with other
applications; and a restarted master does not know sessions from before. So after a while the monitor logs a
warning, and later it kills Spark: the job fails, and the next one starts Spark again with the current
master. A session runs one job at a time: a job that waited for another's tasks would look stalled.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from dray.observe import get_logger
from dray.runtime import Clock
from dray.spark.session import SparkHost

OnProgress = Callable[[int, int], None]
"""Called with the number of tasks that are done, and the total."""
WARN_AFTER_S: Final = 30.0
ABORT_AFTER_S: Final = 300.0
_INTERVAL_S: Final = 0.5
_log = get_logger("spark")


class Progress(NamedTuple):
    """Numbers of tasks of a job."""

    done: int = 0
    active: int = 0


class JobMonitor:
    """Monitors one job of a session."""

    def __init__(self, host: SparkHost, group: str, clock: Clock) -> None:
        self._host = host
        self._group = group
        self._clock = clock
        self.abort_reason = ""
        """Why Spark was killed, if no executor worked on the job."""

    async def run(self, total: int, on_progress: OnProgress) -> None:
        """Report progress until cancelled at the end of the job."""
        seen, moved_at, warned = 0, self._clock.monotonic(), False
        while not self.abort_reason:
            await self._clock.sleep(_INTERVAL_S)
            now = await self._host.query(progress_of, self._host.session, self._group)
            if now.active or now.done > seen or now.done >= total:
                moved_at, warned = self._clock.monotonic(), False
            if now.done > seen:
                seen = now.done
                on_progress(seen, total)
            waited_s = self._clock.monotonic() - moved_at
            if waited_s >= WARN_AFTER_S and not warned:
                reason = _no_executors(self._host.master)
                _log.warning("spark_stalled", stalled_s=round(waited_s), reason=reason)
                warned = True
            if waited_s >= ABORT_AFTER_S:
                self.abort_reason = f"for {waited_s:.0f} s {_no_executors(self._host.master)}"
                await self._host.query(self._host.kill)


def _no_executors(master: str) -> str:
    return f"no executor takes tasks: check that spark.master={master} is up and has workers with free cores"


def progress_of(session: SparkSession, group: str) -> Progress:
    """Return the progress of the jobs of a group; zeros if Spark cannot be queried."""
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
