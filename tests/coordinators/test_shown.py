"""The metrics of groups as a broker shows them, from real requests."""

import asyncio
import http.client
from collections.abc import Callable
from contextlib import closing

import pytest

from dray.cli.assembly import running_broker
from dray.cli.settings import load_settings
from dray.cli.wiring import surroundings
from dray.testing import broker
from dray.testing.broker import EmbeddedBroker
from tests.cli.calling import good, new_topic
from tests.cli.members import member

IN_MEMORY = [
    "metadata.url=memory:",
    "storage.url=memory:",
    "broker.listen=127.0.0.1:0",
    "broker.http=127.0.0.1:0",
]


def shown(kafka: EmbeddedBroker) -> dict[str, float]:
    with closing(http.client.HTTPConnection(kafka.http, timeout=10)) as connection:
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
    series = (line.rpartition(" ") for line in lines if line.startswith("dray_groups_"))
    return {name: float(value) for name, _, value in series}


def await_shown(kafka: EmbeddedBroker, good_enough: Callable[[dict[str, float]], bool]) -> None:
    while not good_enough(shown(kafka)):
        pass


def test_a_life_of_a_group() -> None:
    settings = {"groups.initial_rebalance_delay_ms": "0", "groups.lag_interval_ms": "20"}
    with broker(settings) as kafka:
        topic = new_topic(kafka, partitions=2)
        good("produce", topic, "--partition=1", stdin=b"a\nb\nc\n", kafka=kafka)
        lag = f'dray_groups_lag_records{{group="g",topic="{topic}"}}'
        stable = 'dray_groups_current_groups{protocol="classic",state="Stable"}'
        members = 'dray_groups_current_members{protocol="classic"}'
        with member(kafka, "g", topic, 3):
            await_shown(kafka, lambda now: now.get(stable) == now.get(members) == 1)
            await_shown(kafka, lambda now: now.get(lag) == 0)
            good("produce", topic, "--partition=1", stdin=b"d\ne\n", kafka=kafka)
            await_shown(kafka, lambda now: now.get(lag) == 2)
            assert shown(kafka)['dray_groups_rebalances_total{protocol="classic"}'] == 1
            assert shown(kafka)["dray_groups_committed_offsets_total"] == 1
        await_shown(kafka, lambda now: now[stable] == now[members] == 0)
        good("groups", "delete", "g", "--yes", kafka=kafka)
        await_shown(kafka, lambda now: lag not in now)


@pytest.mark.parametrize(("interval_ms", "measured"), [(0, False), (30_000, True)])
async def test_measuring_lag_can_be_turned_off(interval_ms: int, measured: bool) -> None:
    settings = load_settings(None, {}, {}, [*IN_MEMORY, f"groups.lag_interval_ms={interval_ms}"]).settings
    async with running_broker(settings, surroundings()):
        names = {task.get_name() for task in asyncio.all_tasks()}
    assert ("measure-lag" in names) is measured
