"""The compactor sidecar of `dray up` with scripted processes in virtual time."""

import logging
from collections.abc import Iterable
from itertools import chain, repeat

import pytest

from dray.runtime import Clock, Tasks
from dray.server.errors import EXIT_USAGE
from dray.server.stopping import Stop
from dray.server.supervisor import compactor_sidecar as sidecar_module
from dray.server.supervisor.child_process import ChildProcess
from dray.server.supervisor.compactor_sidecar import CompactorSidecar, compactor_sidecar
from dray.settings import DraySettings, load_settings
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop
from tests.server.scripted_processes import Launcher, Script

BROKERS_FIRST = 3
ME = 1
MISSING = "missing packages: pyspark; install dray[spark]"


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dray.server")


def settings(*pairs: str) -> DraySettings:
    return load_settings(None, {}, {}, pairs).settings


def events(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, object]]:
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    return [line for line in lines if line["event"] == event]


def run_sidecar(*scripts: Script, until: float, launch_fails_at: Iterable[float] = ()) -> Launcher:
    """Run a sidecar that long, with these processes and steady ones after them."""
    launcher = Launcher({ME: chain(scripts, repeat(Script()))}, launch_fails_at=set(launch_fails_at))

    async def body() -> None:
        clock, tasks = VirtualClock(virtual_loop()), Tasks()
        sidecar = CompactorSidecar(lambda: launcher.launch(settings()), clock)
        tasks.start(sidecar.keep_running(), name="compactor")
        await clock.sleep(until)
        await tasks.stop()
        await sidecar.stop()

    run(body())
    return launcher


def test_compactor_starts_after_the_brokers_and_stops_with_them() -> None:
    launcher = run_sidecar(until=100)
    assert launcher.journal == [
        (BROKERS_FIRST, ME, "starts on 127.0.0.1:9092"),
        (100, ME, "asked to stop"),
        (100.5, ME, "exits"),
    ]


def test_missing_requirement_is_logged_once_and_not_retried(caplog: pytest.LogCaptureFixture) -> None:
    launcher = run_sidecar(Script(fails=MISSING, fails_with=EXIT_USAGE), until=1_000)
    assert launcher.times(ME, "starts") == [BROKERS_FIRST]
    assert [line["reason"] for line in events(caplog, "compaction_disabled")] == [MISSING]
    assert events(caplog, "compactor_exited") == []


def test_killed_compactor_is_restarted_with_backoff(caplog: pytest.LogCaptureFixture) -> None:
    short = Script(runs_for=5)
    launcher = run_sidecar(short, short, short, until=100)
    # It is up after a second and lives for five.
    assert launcher.times(ME, "starts") == [3, 3 + 6 + 1, 10 + 6 + 2, 18 + 6 + 4]
    logged = events(caplog, "compactor_exited")
    assert [line["restart_in_s"] for line in logged] == [1, 2, 4]
    assert {line["status"] for line in logged} == {"broker 1 was killed by SIGKILL"}


def test_failed_start_is_retried_and_its_error_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    launcher = run_sidecar(Script(fails="the disk is full"), until=50)
    assert launcher.times(ME, "starts") == [3, 3 + 1 + 1]
    assert [line["status"] for line in events(caplog, "compactor_exited")] == ["broker 1: the disk is full"]


def test_backoff_resets_after_a_long_run() -> None:
    launcher = run_sidecar(Script(runs_for=5), Script(runs_for=200), Script(runs_for=5), until=500)
    starts = launcher.times(ME, "starts")
    assert [later - ended for later, ended in zip(starts[1:], launcher.times(ME, "exits"), strict=False)] == [
        1,
        1,
        2,
    ]


def test_failed_fork_is_retried(caplog: pytest.LogCaptureFixture) -> None:
    launcher = run_sidecar(until=50, launch_fails_at=[BROKERS_FIRST])
    assert launcher.times(ME, "starts") == [BROKERS_FIRST + 1]
    [logged] = events(caplog, "compactor_exited")
    assert logged["status"] == "compactor: cannot start a process: Resource temporarily unavailable"


def test_stop_during_backoff_starts_nothing() -> None:
    launcher = run_sidecar(Script(runs_for=5), until=9.5)
    assert launcher.times(ME, "starts") == [3]
    assert launcher.journal[-1] == (9, ME, "exits")


def test_compactor_that_does_not_stop_is_killed_when_the_wait_is_cancelled() -> None:
    launcher = Launcher({ME: repeat(Script(stops_in=1_000))})

    async def body() -> None:
        clock, tasks = VirtualClock(virtual_loop()), Tasks()
        sidecar = CompactorSidecar(lambda: launcher.launch(settings()), clock)
        tasks.start(sidecar.keep_running(), name="compactor")
        await clock.sleep(10)
        await tasks.stop()
        stopping = tasks_of_its_own.start(sidecar.stop(), name="stop")
        await clock.sleep(1)
        stopping.cancel()
        await tasks_of_its_own.stop()

    tasks_of_its_own = Tasks()
    run(body())
    assert launcher.journal[-2:] == [(11, ME, "killed"), (11, ME, "exits")]


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> Launcher:
    """Replaces the processes that `compactor_sidecar` launches."""
    made = Launcher({ME: repeat(Script())})

    def launch(name: str, its: DraySettings, _: Clock) -> ChildProcess:
        assert name == "compactor"
        return made.launch(its)

    monkeypatch.setattr(sidecar_module, "SpawnedProcess", launch)
    return made


def run_beside_brokers(its: DraySettings, seconds: float, stop_after: float | None = None) -> None:
    """Run the sidecar that long, and request a stop before that if `stop_after` is given."""

    async def body() -> None:
        clock, stop = VirtualClock(virtual_loop()), Stop()
        if stop_after is not None:
            virtual_loop().call_later(stop_after, stop.request)
        async with compactor_sidecar(its, clock, stop):
            await clock.sleep(seconds)

    run(body())


def test_stores_on_disk_are_compacted_while_the_brokers_run(launcher: Launcher) -> None:
    run_beside_brokers(settings(), 100)
    assert [what for _, _, what in launcher.journal] == ["starts on 127.0.0.1:9092", "asked to stop", "exits"]
    assert launcher.journal[1][0] == 100


def test_compactor_stops_while_the_brokers_drain(launcher: Launcher) -> None:
    run_beside_brokers(settings(), 100, stop_after=90)
    assert launcher.journal[1:] == [(90, ME, "asked to stop"), (90.5, ME, "exits")]


@pytest.mark.parametrize("store", ["metadata", "storage"])
def test_stores_in_memory_get_no_compactor_and_the_log_says_so(
    store: str, launcher: Launcher, caplog: pytest.LogCaptureFixture
) -> None:
    run_beside_brokers(settings(f"{store}.url=memory:"), 100)
    assert launcher.journal == []
    assert [line["reason"] for line in events(caplog, "compaction_disabled")] == [
        f"{store}.url: the compactor is another process and cannot reach memory:"
    ]
