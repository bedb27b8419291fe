"""Keeps the brokers of a fleet running, from the first start to the last answer.

They start all at once, and the fleet is up when all of them are. If one cannot start, none stays; its reason
is told once, and the others go without a word. From then on each lives on its own (see `member`). When the
supervisor is told to stop it tells all of them, and waits.
"""

import asyncio
from collections.abc import Callable, Sequence

from dray.cli.failure import Failure
from dray.cli.fleet.member import Launch, Member
from dray.cli.fleet.messages import Ready
from dray.cli.fleet.process import Ending
from dray.cli.settings import DraySettings
from dray.cli.stopping import Stop
from dray.runtime import Clock, Tasks


class Supervisor:
    def __init__(self, plans: Sequence[DraySettings], launch: Launch, clock: Clock) -> None:
        self._members = [Member(settings, launch, clock) for settings in plans]
        self._tasks = Tasks()

    async def run(self, stop: Stop, ready: Callable[[Sequence[Ready]], None]) -> None:
        """Run all brokers until told to stop; raises `Failure` if one cannot start, or does not end well."""
        addresses: Sequence[Ready] | None = None
        try:
            addresses = await stop.unless_asked(self._start())
            if addresses is not None:
                ready(addresses)
                for member in self._members:
                    self._tasks.start(member.keep(), name=member.name)
                await stop.wait()
        finally:
            endings = await self._end(Member.dismiss if addresses is None else Member.stop)
        unclean = [str(ending) for ending in endings if ending is not None and not ending.clean]
        if unclean:
            raise Failure("\n".join(unclean))

    async def _start(self) -> list[Ready]:
        starts = [
            self._tasks.start(member.start(), name=f"start of {member.name}") for member in self._members
        ]
        for start in asyncio.as_completed(starts):
            _ready(await start)
        return [_ready(start.result()) for start in starts]

    async def _end(self, tell: Callable[[Member], None]) -> list[Ending | None]:
        """Start no more, stop all, wait for all. Who cannot wait (Ctrl-C again) leaves none behind."""
        await self._tasks.stop()
        try:
            for member in self._members:
                tell(member)
            return [await member.ended() for member in self._members]
        finally:
            for member in self._members:
                member.kill()


def _ready(started: Ready | Ending) -> Ready:
    if isinstance(started, Ending):
        raise Failure(str(started))
    return started
