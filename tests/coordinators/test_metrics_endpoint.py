"""Group metrics at the HTTP endpoint of a broker, after real requests."""

import asyncio
import http.client
from collections.abc import Callable
from contextlib import closing

import pytest

from dray.server.broker import running_broker
from dray.server.stores import process_context
from dray.settings import load_settings
from dray.testing import broker
from dray.testing.broker import EmbeddedBroker
from tests.cli.invoking import invoke_ok, new_topic
from tests.cli.members import member

IN_MEMORY = [
    "metadata.url=memory:",
    "storage.url=memory:",
    "broker.listen=127.0.0.1:0",
    "broker.http=127.0.0.1:0",
]


def scraped(kafka: EmbeddedBroker) -> dict[str, float]:
    with closing(http.client.HTTPConnection(kafka.http, timeout=10)) as connection:
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
    series = (line.rpartition(" ") for line in lines if line.startswith("dray_groups_"))
    return {name: float(value) for name, _, value in series}


def await_scraped(kafka: EmbeddedBroker, is_expected: Callable[[dict[str, float]], bool]) -> None:
    while not is_expected(scraped(kafka)):
        pass


def test_metrics_over_the_life_of_a_group() -> None:
    settings = {"groups.initial_rebalance_delay_ms": "0", "groups.lag_interval_ms": "20"}
    with broker(settings) as kafka:
        topic = new_topic(kafka, partitions=2)
        invoke_ok("produce", topic, "--partition=1", stdin=b"a\nb\nc\n", kafka=kafka)
        lag = f'dray_groups_lag_records{{group="g",topic="{topic}"}}'
        stable = 'dray_groups_current_groups{protocol="classic",state="Stable"}'
        members = 'dray_groups_current_members{protocol="classic"}'
        with member(kafka, "g", topic, 3):
            await_scraped(kafka, lambda now: now.get(stable) == now.get(members) == 1)
            await_scraped(kafka, lambda now: now.get(lag) == 0)
            invoke_ok("produce", topic, "--partition=1", stdin=b"d\ne\n", kafka=kafka)
            await_scraped(kafka, lambda now: now.get(lag) == 2)
            assert scraped(kafka)['dray_groups_rebalances_total{protocol="classic"}'] == 1
            assert scraped(kafka)["dray_groups_committed_offsets_total"] == 1
        await_scraped(kafka, lambda now: now[stable] == now[members] == 0)
        invoke_ok("groups", "delete", "g", "--yes", kafka=kafka)
        await_scraped(kafka, lambda now: lag not in now)


@pytest.mark.parametrize(("interval_ms", "measured"), [(0, False), (30_000, True)])
async def test_lag_measurement_can_be_disabled(interval_ms: int, measured: bool) -> None:
    settings = load_settings(None, {}, {}, [*IN_MEMORY, f"groups.lag_interval_ms={interval_ms}"]).settings
    async with running_broker(settings, process_context()):
        names = {task.get_name() for task in asyncio.all_tasks()}
    assert ("measure-lag" in names) is measured
