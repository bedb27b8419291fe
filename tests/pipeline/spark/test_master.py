"""A master that is not there is told at once, and with where it should be."""

import socket
from collections.abc import Iterator

import pytest

from dray.pipeline.spark.jvm import SparkFailed
from dray.pipeline.spark.master import check_master
from dray.pipeline.spark.settings import SparkSettings


@pytest.fixture
def answering() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def silent() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_master_that_answers_is_enough(answering: int, silent: int) -> None:
    check_master(SparkSettings(master=f"spark://127.0.0.1:{answering}"))
    check_master(SparkSettings(master=f"spark://127.0.0.1:{silent},127.0.0.1:{answering}"))


def test_masters_that_do_not_answer_are_told(silent: int) -> None:
    settings = SparkSettings(master=f"spark://127.0.0.1:{silent},nobody.invalid:7077,a..b:7077")
    told = rf"127.0.0.1:{silent}: .*refused.*; nobody.invalid:7077: .*; a..b:7077: .*"
    with pytest.raises(SparkFailed, match=told):
        check_master(settings)


def test_a_master_given_among_the_further_settings_is_the_one_that_counts(silent: int) -> None:
    away = f"spark://127.0.0.1:{silent}"
    check_master(SparkSettings(master=away, conf="spark.master=local[2]"))
    with pytest.raises(SparkFailed, match="no Spark master answers"):
        check_master(SparkSettings(conf=f"spark.master={away}"))


@pytest.mark.parametrize("master", ["local[*,3]", "yarn", "k8s://there:443", "spark://", "spark://x:y"])
def test_other_masters_are_spark_s_own_affair(master: str) -> None:
    check_master(SparkSettings(master=master))
