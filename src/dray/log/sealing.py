"""Sealing of one domain's batches: which ones share a WAL object, and when the open object is sealed.

- At once when it is full.
- When none of the domain's objects is in flight, after the callbacks that are ready now: requests that arrive
  together share an object. While the broker has several objects of other domains in flight, or batches of
  many streams keep coming, it waits, but not longer than it lingers (see `flushes`).
- When it is large and every object in flight is being committed: its upload overlaps the commit. A small one
  gathers batches instead, because an object costs more than its bytes do.
- After `linger_ms`, or a few times that while batches of many streams keep coming, once its upload can begin.
  While the uploader is saturated the object would only wait, and batches that arrive meanwhile would need
  objects of their own: more than can ever be uploaded. One of many small batches also waits for a commit that
  all objects in flight are part of: it could be uploaded, but not committed, before that has ended.
"""

import asyncio
from asyncio import TimerHandle
from collections.abc import Callable
from typing import Protocol

from dray.ids import StreamId
from dray.log.buffer import OpenBuffer
from dray.log.flushes import Flushes
from dray.log.settings import LogSettings
from dray.log.stages import Pending, Sealed


class InFlight(Protocol):
    """The sealed objects of the domain that are not committed yet."""

    @property
    def idle(self) -> bool:
        """Whether there are none."""
        ...

    @property
    def all_committing(self) -> bool:
        """Whether all of them are in the commit under way."""
        ...

    @property
    def saturated(self) -> bool:
        """Whether the upload of one more would have to wait."""
        ...


class Sealer:
    """Collects batches, and passes them on as sealed objects."""

    def __init__(
        self,
        settings: LogSettings,
        in_flight: InFlight,
        flushes: Flushes,
        pass_on: Callable[[Sealed], None],
    ) -> None:
        self._linger_s = settings.linger_ms / 1000
        self._in_flight = in_flight
        self._flushes = flushes
        self._retry = self.seal_if_idle  # one object, so that `Flushes` has it once at most
        self._pass_on = pass_on
        self._open = OpenBuffer(settings)
        flushes.join(self._open)
        self._linger: TimerHandle | None = None
        self._lingers = 0
        self._lingered = False
        self._idle_check_scheduled = False

    def add(self, stream: StreamId, pending: Pending) -> None:
        """Add a batch to the open object."""
        if not self._open.fits(pending):
            self._seal()
        self._open.add(stream, pending)
        if self._open.full or self._may_overlap:
            self._seal()
        elif self._in_flight.idle:
            self._schedule_idle_check()
        else:
            self._start_linger()

    def seal_rest(self) -> None:
        """Seal the open object, whatever it holds."""
        if self._open:
            self._seal()

    def seal_if_lingered(self) -> None:
        """Seal the open object if it has lingered long enough; called when an upload has ended."""
        if self._lingered and self._open and not self._in_flight.saturated and not self._waits_for_commit:
            self._seal()

    def seal_if_large(self) -> None:
        """Seal the open object if it is large; called when a commit begins, which its upload overlaps."""
        if self._may_overlap:
            self._seal()

    def seal_if_idle(self) -> None:
        """Seal the open object if nothing is in flight; called when objects have left the queue."""
        if not self._open or not self._in_flight.idle:
            return
        if self._lingered or self._flushes.may_begin(self._retry):
            self._seal()
        else:
            self._start_linger()

    @property
    def _may_overlap(self) -> bool:
        return self._open.large and self._in_flight.all_committing

    @property
    def _waits_for_commit(self) -> bool:
        in_flight = self._in_flight
        return in_flight.all_committing and not in_flight.idle and self._flushes.holds_many

    def _schedule_idle_check(self) -> None:
        if not self._idle_check_scheduled:
            self._idle_check_scheduled = True
            asyncio.get_running_loop().call_soon(self._idle_check)

    def _idle_check(self) -> None:
        self._idle_check_scheduled = False
        self.seal_if_idle()

    def _start_linger(self) -> None:
        if self._linger is None and not self._lingered:
            self._linger = asyncio.get_running_loop().call_later(self._linger_s, self._linger_expired)

    def _linger_expired(self) -> None:
        self._linger = None
        self._lingers += 1
        if self._lingers < self._flushes.lingers(self._open.small_chunks):
            self._start_linger()
            return
        self._lingered = True
        self.seal_if_lingered()

    def _seal(self) -> None:
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        self._lingered = False
        self._lingers = 0
        self._pass_on(self._open.seal())
