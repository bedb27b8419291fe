"""The supervisor with scripted broker processes in virtual time: when each is started, stopped and killed."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from itertools import chain, repeat

import pytest

from dray.server.errors import StartupError
from dray.server.stopping import Stop
from dray.server.supervisor import plan_brokers
from dray.server.supervisor.messages import Ready
from dray.server.supervisor.supervisor import Supervisor
from dray.settings import load_settings
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop
from tests.server.scripted_processes import Launcher, Script

STEADY = Script()


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dray.server")


def steady_after(*scripts: Script) -> Iterable[Script]:
    return chain(scripts, repeat(STEADY))


class World:
    """A supervisor of brokers with the ids 1, 2, …, asked to stop at some time."""

    def __init__(self, *brokers: Iterable[Script]) -> None:
        self.launcher = Launcher({number: iter(scripts) for number, scripts in enumerate(brokers, 1)})
        self.announced: list[tuple[float, list[str]]] = []

    def run(self, *, stop_at: float) -> None:
        run(self._run(stop_at))

    async def _run(self, stop_at: float) -> None:
        free = ("broker.id=1", "broker.listen=127.0.0.1:0", "broker.http=127.0.0.1:0")
        plans = plan_brokers(load_settings(None, {}, {}, free).settings, len(self.launcher.scripts))
        supervisor = Supervisor(plans, self.launcher.launch, VirtualClock(virtual_loop()))
        stop = Stop()
        virtual_loop().call_at(stop_at, stop.request)
        await supervisor.run(stop, self._ready)

    def _ready(self, addresses: Sequence[Ready]) -> None:
        self.announced.append((virtual_loop().time(), [one.kafka for one in addresses]))


def events(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, object]]:
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    return [line for line in lines if line["event"] == event]


def test_brokers_start_concurrently_and_are_announced_together() -> None:
    world = World(
        steady_after(Script(starts_in=3)),
        steady_after(Script(starts_in=1)),
        steady_after(Script(starts_in=2)),
    )
    world.run(stop_at=10)
    assert [world.launcher.times(broker, "starts") for broker in (1, 2, 3)] == [[0], [0], [0]]
    assert world.announced == [(3, ["127.0.0.1:40001", "127.0.0.1:40002", "127.0.0.1:40003"])]


def test_stop_asks_each_broker_once_and_waits_for_all() -> None:
    world = World(steady_after(Script(stops_in=5)), steady_after(Script(stops_in=1)))
    world.run(stop_at=10)
    assert sorted(world.launcher.journal)[-4:] == [
        (10, 1, "asked to stop"),
        (10, 2, "asked to stop"),
        (11, 2, "exits"),
        (15, 1, "exits"),
    ]


def test_failed_start_stops_all_and_is_reported_once() -> None:
    full = Script(starts_in=1, fails="the bucket is missing")
    world = World(
        steady_after(Script(starts_in=0.5)),
        steady_after(full),
        steady_after(Script(starts_in=9)),
        steady_after(full),
    )
    with pytest.raises(StartupError) as failure:
        world.run(stop_at=100)
    assert str(failure.value) in {"broker 2: the bucket is missing", "broker 4: the bucket is missing"}
    assert world.announced == []
    assert all(process.has_exited for process in world.launcher.processes)
    assert world.launcher.times(1, "stopped quietly") == world.launcher.times(3, "stopped quietly") == [1]
    assert [what for *_, what in world.launcher.journal if what == "asked to stop"] == []


def test_killed_broker_is_restarted_at_the_same_address(caplog: pytest.LogCaptureFixture) -> None:
    world = World(steady_after(), steady_after(Script(runs_for=10)))
    world.run(stop_at=20)
    assert [what for _, broker, what in world.launcher.journal if broker == 2] == [
        "starts on 127.0.0.1:0",
        "exits",
        "starts on 127.0.0.1:40002",
        "asked to stop",
        "exits",
    ]
    assert world.launcher.times(2, "starts") == [0, 12]
    (ended,) = events(caplog, "broker_exited")
    assert (ended["broker"], ended["status"]) == (2, "broker 2 was killed by SIGKILL")
    assert ended["restart_in_s"] == 1
    (back,) = events(caplog, "broker_restarted")
    assert (back["broker"], back["kafka"]) == (2, "127.0.0.1:40002")
    assert len(world.launcher.times(1, "starts")) == 1


def test_backoff_grows_and_resets_after_a_long_run(caplog: pytest.LogCaptureFixture) -> None:
    sick, taken = Script(starts_in=0, runs_for=5), Script(starts_in=0, fails="the port is taken")
    world = World([*repeat(sick, 3), *repeat(taken, 4), Script(starts_in=0, runs_for=60), STEADY])
    world.run(stop_at=1000)
    ended = events(caplog, "broker_exited")
    assert [line["restart_in_s"] for line in ended] == [1, 2, 4, 8, 16, 30, 30, 1]
    assert ended[3]["status"] == "broker 1: the port is taken"
    assert len(events(caplog, "broker_restarted")) == 4


def test_failed_fork_is_retried(caplog: pytest.LogCaptureFixture) -> None:
    world = World(steady_after(Script(starts_in=0, runs_for=10)))
    world.launcher.launch_fails_at = {11.0, 13.0}
    world.run(stop_at=100)
    assert world.launcher.times(1, "starts") == [0, 17]
    assert "cannot start a process: Resource temporarily" in str(events(caplog, "broker_exited")[1]["status"])


@pytest.mark.parametrize(
    ("scripts", "stop_at", "starts"),
    [
        pytest.param([Script(starts_in=5)], 3.0, [0.0], id="while it starts"),
        pytest.param([Script(starts_in=1, runs_for=1)], 2.5, [0.0], id="during backoff"),
        pytest.param(
            [Script(starts_in=1, runs_for=1), Script(starts_in=5)], 4.0, [0.0, 3.0], id="while it restarts"
        ),
    ],
)
def test_stop_leaves_no_process_and_starts_none(
    scripts: list[Script], stop_at: float, starts: list[float]
) -> None:
    world = World(steady_after(*scripts), steady_after())
    world.run(stop_at=stop_at)
    assert world.launcher.times(1, "starts") == starts
    assert all(process.has_exited for process in world.launcher.processes)
    assert world.launcher.times(1, "killed") == []


def test_unclean_exit_on_shutdown_is_an_error() -> None:
    world = World(
        steady_after(Script(stops_with=-11)),
        steady_after(Script(stops_with=-15)),
        steady_after(Script(stops_with=3)),
    )
    with pytest.raises(StartupError) as failure:
        world.run(stop_at=10)
    assert str(failure.value) == "broker 1 was killed by SIGSEGV\nbroker 3 exited with code 3"


def test_cancelled_stop_kills_the_remaining_processes() -> None:
    world = World(steady_after(Script(stops_in=1000)), steady_after(Script(stops_in=1)))

    async def impatient() -> None:
        running = asyncio.create_task(world._run(5))
        await asyncio.sleep(10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    run(impatient())
    assert world.launcher.times(1, "killed") == [10]
    assert world.launcher.times(2, "killed") == []
    assert all(process.has_exited for process in world.launcher.processes)
