"""The compactor beside `dray up`, as a scripted process in virtual time: who starts and ends it."""

import logging
from collections.abc import Iterable
from itertools import chain, repeat

import pytest

from dray.cli.failure import EXIT_USAGE
from dray.cli.fleet import compacting
from dray.cli.fleet.compacting import Compacting, compacting_beside
from dray.cli.fleet.process import Life
from dray.cli.settings import DraySettings, load_settings
from dray.runtime import Clock, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop
from tests.cli.scripted_lives import Script, Stage

BROKERS_FIRST = 3
ME = 1
MISSING = "compaction needs pyspark: pip install 'dray[spark]'"


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dray.cli")


def settings(*pairs: str) -> DraySettings:
    return load_settings(None, {}, {}, pairs).settings


def events(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, object]]:
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    return [line for line in lines if line["event"] == event]


def kept(*scripts: Script, until: float, no_process_at: Iterable[float] = ()) -> Stage:
    """Keep a compactor for so long, with these lives and then steady ones."""
    stage = Stage({ME: chain(scripts, repeat(Script()))}, no_process_at=set(no_process_at))

    async def body() -> None:
        clock, tasks = VirtualClock(virtual_loop()), Tasks()
        one = Compacting(lambda: stage.launch(settings()), clock)
        tasks.start(one.keep(), name="compactor")
        await clock.sleep(until)
        await tasks.stop()
        await one.stop()

    run(body())
    return stage


def test_brokers_come_first_and_the_compactor_ends_with_them() -> None:
    stage = kept(until=100)
    assert stage.journal == [
        (BROKERS_FIRST, ME, "starts on 127.0.0.1:9092"),
        (100, ME, "told to stop"),
        (100.5, ME, "ends"),
    ]


def test_what_is_missing_is_told_once_and_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    stage = kept(Script(fails=MISSING, fails_with=EXIT_USAGE), until=1_000)
    assert stage.times(ME, "starts") == [BROKERS_FIRST]
    assert [line["why"] for line in events(caplog, "topics_do_not_become_tables")] == [MISSING]
    assert events(caplog, "compactor_ended") == []


def test_one_that_dies_comes_back_after_pauses_that_grow(caplog: pytest.LogCaptureFixture) -> None:
    short = Script(lives=5)
    stage = kept(short, short, short, until=100)
    # It is up after a second and lives for five.
    assert stage.times(ME, "starts") == [3, 3 + 6 + 1, 10 + 6 + 2, 18 + 6 + 4]
    told = events(caplog, "compactor_ended")
    assert [line["starts_again_in_s"] for line in told] == [1, 2, 4]
    assert {line["how"] for line in told} == {"broker 1 was killed by SIGKILL"}


def test_one_that_fails_otherwise_is_tried_again_and_its_words_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = kept(Script(fails="the disk is full"), until=50)
    assert stage.times(ME, "starts") == [3, 3 + 1 + 1]
    assert [line["how"] for line in events(caplog, "compactor_ended")] == ["broker 1: the disk is full"]


def test_who_stayed_up_begins_with_the_first_pause_again() -> None:
    stage = kept(Script(lives=5), Script(lives=200), Script(lives=5), until=500)
    starts = stage.times(ME, "starts")
    assert [later - ended for later, ended in zip(starts[1:], stage.times(ME, "ends"), strict=False)] == [
        1,
        1,
        2,
    ]


def test_no_process_can_be_had(caplog: pytest.LogCaptureFixture) -> None:
    stage = kept(until=50, no_process_at=[BROKERS_FIRST])
    assert stage.times(ME, "starts") == [BROKERS_FIRST + 1]
    [told] = events(caplog, "compactor_ended")
    assert told["how"] == "compactor: no process can be started: Resource temporarily unavailable"


def test_stopping_in_a_pause_starts_nothing() -> None:
    stage = kept(Script(lives=5), until=9.5)
    assert stage.times(ME, "starts") == [3]
    assert stage.journal[-1] == (9, ME, "ends")


def test_one_that_does_not_stop_is_killed_by_who_cannot_wait() -> None:
    stage = Stage({ME: repeat(Script(stops_in=1_000))})

    async def body() -> None:
        clock, tasks = VirtualClock(virtual_loop()), Tasks()
        one = Compacting(lambda: stage.launch(settings()), clock)
        tasks.start(one.keep(), name="compactor")
        await clock.sleep(10)
        await tasks.stop()
        stopping = tasks_of_its_own.start(one.stop(), name="stop")
        await clock.sleep(1)
        stopping.cancel()
        await tasks_of_its_own.stop()

    tasks_of_its_own = Tasks()
    run(body())
    assert stage.journal[-2:] == [(11, ME, "killed"), (11, ME, "ends")]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """What `compacting_beside` starts instead of processes."""
    made = Stage({ME: repeat(Script())})

    def launch(name: str, its: DraySettings, _: Clock) -> Life:
        assert name == "compactor"
        return made.launch(its)

    monkeypatch.setattr(compacting, "ChildProcess", launch)
    return made


def beside(its: DraySettings, seconds: float) -> None:
    async def body() -> None:
        clock = VirtualClock(virtual_loop())
        async with compacting_beside(its, clock):
            await clock.sleep(seconds)

    run(body())


def test_what_is_in_files_is_compacted_as_long_as_the_brokers_run(stage: Stage) -> None:
    beside(settings(), 100)
    assert [what for _, _, what in stage.journal] == ["starts on 127.0.0.1:9092", "told to stop", "ends"]
    assert stage.journal[1][0] == 100


@pytest.mark.parametrize("store", ["metadata", "storage"])
def test_what_is_in_memory_is_nobody_elses(store: str, stage: Stage) -> None:
    beside(settings(f"{store}.url=memory:"), 100)
    assert stage.journal == []
