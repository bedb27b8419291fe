"""A fleet of scripted brokers in virtual time: who is started, told and killed when."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from itertools import chain, repeat

import pytest

from dray.cli.failure import Failure
from dray.cli.fleet import plan_fleet
from dray.cli.fleet.messages import Ready
from dray.cli.fleet.supervisor import Supervisor
from dray.cli.settings import load_settings
from dray.cli.stopping import Stop
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop
from tests.cli.scripted_lives import Script, Stage

STEADY = Script()


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dray.cli")


def lives(*scripts: Script) -> Iterable[Script]:
    return chain(scripts, repeat(STEADY))


class World:
    """A supervisor of some brokers with the ids 1, 2, …, told to stop at some time."""

    def __init__(self, *brokers: Iterable[Script]) -> None:
        self.stage = Stage({number: iter(scripts) for number, scripts in enumerate(brokers, 1)})
        self.told: list[tuple[float, list[str]]] = []

    def run(self, *, stop_at: float) -> None:
        run(self._run(stop_at))

    async def _run(self, stop_at: float) -> None:
        free = ("broker.listen=127.0.0.1:0", "broker.http=127.0.0.1:0")
        plans = plan_fleet(load_settings(None, {}, {}, free).settings, len(self.stage.scripts))
        supervisor = Supervisor(plans, self.stage.launch, VirtualClock(virtual_loop()))
        stop = Stop()
        virtual_loop().call_at(stop_at, stop.ask)
        await supervisor.run(stop, self._ready)

    def _ready(self, addresses: Sequence[Ready]) -> None:
        self.told.append((virtual_loop().time(), [one.kafka for one in addresses]))


def events(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, object]]:
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    return [line for line in lines if line["event"] == event]


def test_all_start_at_once_and_are_told_when_all_are_up() -> None:
    world = World(lives(Script(starts_in=3)), lives(Script(starts_in=1)), lives(Script(starts_in=2)))
    world.run(stop_at=10)
    assert [world.stage.times(broker, "starts") for broker in (1, 2, 3)] == [[0], [0], [0]]
    assert world.told == [(3, ["127.0.0.1:40001", "127.0.0.1:40002", "127.0.0.1:40003"])]


def test_stopping_tells_each_once_and_waits_for_all() -> None:
    world = World(lives(Script(stops_in=5)), lives(Script(stops_in=1)))
    world.run(stop_at=10)
    assert sorted(world.stage.journal)[-4:] == [
        (10, 1, "told to stop"),
        (10, 2, "told to stop"),
        (11, 2, "ends"),
        (15, 1, "ends"),
    ]


def test_one_that_cannot_start_ends_all_and_its_reason_is_told_once() -> None:
    full = Script(starts_in=1, fails="the bucket is missing")
    world = World(lives(Script(starts_in=0.5)), lives(full), lives(Script(starts_in=9)), lives(full))
    with pytest.raises(Failure) as failure:
        world.run(stop_at=100)
    assert failure.value.message in {"broker 2: the bucket is missing", "broker 4: the bucket is missing"}
    assert world.told == []
    assert all(life.over for life in world.stage.lives)
    assert world.stage.times(1, "dismissed") == world.stage.times(3, "dismissed") == [1]
    assert [what for *_, what in world.stage.journal if what == "told to stop"] == []


def test_one_that_dies_is_started_again_where_it_was(caplog: pytest.LogCaptureFixture) -> None:
    world = World(lives(), lives(Script(lives=10)))
    world.run(stop_at=20)
    assert [what for _, broker, what in world.stage.journal if broker == 2] == [
        "starts on 127.0.0.1:0",
        "ends",
        "starts on 127.0.0.1:40002",
        "told to stop",
        "ends",
    ]
    assert world.stage.times(2, "starts") == [0, 12]
    (ended,) = events(caplog, "broker_ended")
    assert (ended["broker"], ended["how"]) == (2, "broker 2 was killed by SIGKILL")
    assert ended["starts_again_in_s"] == 1
    (back,) = events(caplog, "broker_is_back")
    assert (back["broker"], back["kafka"]) == (2, "127.0.0.1:40002")
    assert len(world.stage.times(1, "starts")) == 1


def test_the_pause_grows_and_begins_anew_for_one_that_stays_up(caplog: pytest.LogCaptureFixture) -> None:
    sick, taken = Script(starts_in=0, lives=5), Script(starts_in=0, fails="the port is taken")
    world = World([*repeat(sick, 3), *repeat(taken, 4), Script(starts_in=0, lives=60), STEADY])
    world.run(stop_at=1000)
    ended = events(caplog, "broker_ended")
    assert [line["starts_again_in_s"] for line in ended] == [1, 2, 4, 8, 16, 30, 30, 1]
    assert ended[3]["how"] == "broker 1: the port is taken"
    assert len(events(caplog, "broker_is_back")) == 4


def test_a_machine_without_room_for_a_process_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    world = World(lives(Script(starts_in=0, lives=10)))
    world.stage.no_process_at = {11.0, 13.0}
    world.run(stop_at=100)
    assert world.stage.times(1, "starts") == [0, 17]
    assert "no process can be started: Resource temporarily" in str(events(caplog, "broker_ended")[1]["how"])


@pytest.mark.parametrize(
    ("scripts", "stop_at", "starts"),
    [
        pytest.param([Script(starts_in=5)], 3.0, [0.0], id="while it starts"),
        pytest.param([Script(starts_in=1, lives=1)], 2.5, [0.0], id="in the pause"),
        pytest.param(
            [Script(starts_in=1, lives=1), Script(starts_in=5)], 4.0, [0.0, 3.0], id="while it restarts"
        ),
    ],
)
def test_nothing_is_started_and_nothing_left_once_told_to_stop(
    scripts: list[Script], stop_at: float, starts: list[float]
) -> None:
    world = World(lives(*scripts), lives())
    world.run(stop_at=stop_at)
    assert world.stage.times(1, "starts") == starts
    assert all(life.over for life in world.stage.lives)
    assert world.stage.times(1, "killed") == []


def test_one_that_does_not_end_well_is_a_failure() -> None:
    world = World(lives(Script(stops_with=-11)), lives(Script(stops_with=-15)), lives(Script(stops_with=3)))
    with pytest.raises(Failure) as failure:
        world.run(stop_at=10)
    assert failure.value.message == "broker 1 was killed by SIGSEGV\nbroker 3 ended with exit code 3"


def test_who_cannot_wait_leaves_none_behind() -> None:
    world = World(lives(Script(stops_in=1000)), lives(Script(stops_in=1)))

    async def impatient() -> None:
        running = asyncio.create_task(world._run(5))
        await asyncio.sleep(10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    run(impatient())
    assert world.stage.times(1, "killed") == [10]
    assert world.stage.times(2, "killed") == []
    assert all(life.over for life in world.stage.lives)
