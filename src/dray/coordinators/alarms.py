"""The timers of one group that run on this broker.

Which timers there are follows from the group (`dray.groups.outcome`). A session's is started anew whenever
its member calls; that is all a quiet heartbeat does.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeAlias

from dray.groups.outcome import Timer, TimerAsked, TimerKind
from dray.runtime import Timers

GroupTimers: TypeAlias = Timers[tuple[str, Timer]]
"""The timers of all groups, by group."""


class Alarms:
    """Starts and stops timers as the group asks for them."""

    def __init__(self, group_id: str, timers: GroupTimers, ring: Callable[[Timer], Awaitable[None]]) -> None:
        self._group_id = group_id
        self._timers = timers
        self._ring = ring
        self._asked: dict[Timer, float] = {}
        self._sessions: dict[str, Timer] = {}

    def follow(self, asked: Iterable[TimerAsked]) -> None:
        """Start what is new, stop what is gone, and leave alone what runs."""
        wanted = {one.timer: one.after_ms / 1000 for one in asked}
        for timer in self._asked.keys() - wanted.keys():
            self._timers.cancel((self._group_id, timer))
        for timer, seconds in wanted.items():
            if timer not in self._asked:
                self._set(timer, seconds)
        self._asked = wanted
        self._sessions = {timer.member_id: timer for timer in wanted if timer.kind is TimerKind.SESSION}

    def touch(self, member_id: str) -> None:
        """Start a member's session anew."""
        timer = self._sessions.get(member_id)
        if timer is not None:
            self._set(timer, self._asked[timer])

    def rang(self, timer: Timer, retry_seconds: float | None = None) -> None:
        """Start a timer again that has rung and is still asked for; sooner, if it rang in vain."""
        seconds = self._asked.get(timer)
        if seconds is not None and not self.is_set(timer):
            self._set(timer, seconds if retry_seconds is None else retry_seconds)

    def is_set(self, timer: Timer) -> bool:
        """Whether it runs; one that has rung does not, unless it was started anew since."""
        return (self._group_id, timer) in self._timers

    def _set(self, timer: Timer, seconds: float) -> None:
        self._timers.set((self._group_id, timer), seconds, partial(self._ring, timer))
