"""Timers of one group that run on this broker.

Which timers have to run follows from the group (`dray.groups.timers`). A request of a member restarts its
session timer; that is all an ordinary heartbeat does.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from dray.groups.timers import Timer, TimerKind, TimerSpec
from dray.runtime import Timers


class GroupTimers:
    """Starts and stops timers as the group asks for them; `queue` is shared by all groups."""

    def __init__(
        self, group_id: str, queue: Timers[tuple[str, Timer]], fire: Callable[[Timer], Awaitable[None]]
    ) -> None:
        self._group_id = group_id
        self._queue = queue
        self._fire = fire
        self._seconds: dict[Timer, float] = {}
        self._sessions: dict[str, Timer] = {}

    def update(self, specs: Iterable[TimerSpec]) -> None:
        """Start new timers, stop those that are no longer asked for, and leave the others running."""
        wanted = {spec.timer: spec.delay_ms / 1000 for spec in specs}
        for timer in self._seconds.keys() - wanted.keys():
            self._queue.cancel((self._group_id, timer))
        for timer, seconds in wanted.items():
            if timer not in self._seconds:
                self._set(timer, seconds)
        self._seconds = wanted
        self._sessions = {timer.member_id: timer for timer in wanted if timer.kind is TimerKind.SESSION}

    def restart_session(self, member_id: str) -> None:
        timer = self._sessions.get(member_id)
        if timer is not None:
            self._set(timer, self._seconds[timer])

    def restart(self, timer: Timer, retry_seconds: float | None = None) -> None:
        """Restart a timer that fired and is still asked for; sooner than usual to retry a failed one."""
        seconds = self._seconds.get(timer)
        if seconds is not None and not self.is_running(timer):
            self._set(timer, seconds if retry_seconds is None else retry_seconds)

    def is_running(self, timer: Timer) -> bool:
        """Return whether it runs; one that has fired does not, unless it was restarted since."""
        return (self._group_id, timer) in self._queue

    def _set(self, timer: Timer, seconds: float) -> None:
        self._queue.set((self._group_id, timer), seconds, partial(self._fire, timer))
