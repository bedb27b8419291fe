"""Spark, a broker, librdkafka, and a topic that librdkafka has filled, one each per module."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.brokers import running_brokers
from tests.clients.process import ClientProcess
from tests.clients.protocol import Record
from tests.clients.records import varied
from tests.clients.registry import CLIENTS, CODECS
from tests.clients.target import EXTERNAL
from tests.clients.topics import log_of, new_name, places
from tests.oracle.jars import fetched
from tests.spark_connector.session import running_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS: Final = (0, 1, 2, 3)
RECORDS: Final = 3_000
_POM: Final = Path(__file__).with_name("pom.xml")


@dataclass(frozen=True, slots=True)
class Filled:
    """A topic and its records, in the order of writing."""

    topic: str
    log: list[Record]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    jars = sorted(fetched("spark-kafka", _POM).glob("*.jar"))
    with running_spark(jars, tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a broker process, unless the environment names a broker (`tests.clients.target`)."""
    if EXTERNAL:
        yield EXTERNAL
        return
    options = ("--set", "groups.initial_rebalance_delay_ms=0")
    with running_brokers(1, tmp_path_factory.mktemp("dray"), options) as (broker,):
        yield broker.address


@pytest.fixture(scope="module")
def librdkafka(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientProcess]:
    log = tmp_path_factory.mktemp("clients") / "librdkafka.log"
    program = ClientProcess(CLIENTS["librdkafka"].command(bootstrap), log)
    yield program
    program.close()


@pytest.fixture(scope="module")
def filled(librdkafka: ClientProcess) -> Filled:
    """Produce records of every shape with every codec to all partitions, one second apart."""
    topic, log = new_name(), log_of(CLIENTS["librdkafka"], varied(RECORDS, PARTITIONS))
    librdkafka.create_topic(topic, len(PARTITIONS))
    share = RECORDS // len(CODECS)
    for number, codec in enumerate(CODECS):
        part = log[number * share : (number + 1) * share]
        assert librdkafka.produce(topic, part, codec) == places(part)
    return Filled(topic, log)
