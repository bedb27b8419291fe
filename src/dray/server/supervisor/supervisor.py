"""`dray up --brokers N`: several broker processes, from the first start to the last response.

All brokers start at once. If one cannot start, its error is reported once and the others are stopped without
logging. After that each is restarted on its own (see `broker_process`). On shutdown the supervisor asks all
of them to stop, and waits.
"""

import asyncio
from collections.abc import Callable, Sequence

from dray.runtime import Clock, SystemClock, Tasks
from dray.server.errors import StartupError
from dray.server.serving import Sidecar, address_line, no_sidecar, set_up_logs
from dray.server.stopping import Stop, stop_on_signals
from dray.server.supervisor.broker_process import BrokerProcess, Launch, broker_name
from dray.server.supervisor.child_process import ExitStatus, SpawnedProcess
from dray.server.supervisor.messages import Ready
from dray.server.supervisor.plan import plan_brokers
from dray.settings import DraySettings


def run_brokers(
    settings: DraySettings,
    count: int,
    announce: Callable[[str], None],
    sidecar: Sidecar = no_sidecar,
) -> None:
    """Run `count` brokers until a signal stops this process; their addresses are announced once."""
    plans = plan_brokers(settings, count)
    set_up_logs(settings.logging)
    asyncio.run(_run(plans, announce, sidecar))


async def _run(plans: Sequence[DraySettings], announce: Callable[[str], None], sidecar: Sidecar) -> None:
    clock = SystemClock()
    supervisor = Supervisor(
        plans, lambda settings: SpawnedProcess(broker_name(settings), settings, clock), clock
    )

    def ready(brokers: Sequence[Ready]) -> None:
        for broker in sorted(brokers, key=lambda broker: broker.broker_id):
            announce(f"broker {broker.broker_id}: {address_line(broker.kafka, broker.http)}")

    with stop_on_signals() as stop:
        async with sidecar(stop):
            await supervisor.run(stop, ready)


class Supervisor:
    """Starts, restarts and stops the brokers of one machine."""

    def __init__(self, plans: Sequence[DraySettings], launch: Launch, clock: Clock) -> None:
        self._brokers = [BrokerProcess(settings, launch, clock) for settings in plans]
        self._tasks = Tasks()

    async def run(self, stop: Stop, ready: Callable[[Sequence[Ready]], None]) -> None:
        """Run all brokers until asked to stop; raises `StartupError` if one fails to start or to stop."""
        addresses: Sequence[Ready] | None = None
        try:
            addresses = await stop.unless_requested(self._start())
            if addresses is not None:
                ready(addresses)
                for broker in self._brokers:
                    self._tasks.start(broker.keep_running(), name=broker.name)
                await stop.wait()
        finally:
            stop_one = BrokerProcess.stop_quietly if addresses is None else BrokerProcess.stop
            statuses = await self._stop(stop_one)
        unclean = [str(status) for status in statuses if status is not None and not status.clean]
        if unclean:
            raise StartupError("\n".join(unclean))

    async def _start(self) -> list[Ready]:
        starts = [
            self._tasks.start(broker.start(), name=f"start of {broker.name}") for broker in self._brokers
        ]
        for start in asyncio.as_completed(starts):
            _ready(await start)
        return [_ready(start.result()) for start in starts]

    async def _stop(self, request: Callable[[BrokerProcess], None]) -> list[ExitStatus | None]:
        """Stop all brokers and wait for them. If cancelled (Ctrl-C again), kill those that are left."""
        await self._tasks.stop()
        try:
            for broker in self._brokers:
                request(broker)
            return [await broker.exited() for broker in self._brokers]
        finally:
            for broker in self._brokers:
                broker.kill()


def _ready(started: Ready | ExitStatus) -> Ready:
    if isinstance(started, ExitStatus):
        raise StartupError(str(started))
    return started
