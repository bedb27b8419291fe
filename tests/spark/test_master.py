"""Check of the Spark master: an unreachable one is reported at once, with its address."""

import socket
from collections.abc import Iterator

import pytest

from dray.spark.jvm import SparkFailed
from dray.spark.session import check_master
from dray.spark.settings import SparkSettings


@pytest.fixture
def reachable() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def unreachable() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_one_reachable_master_is_enough(reachable: int, unreachable: int) -> None:
    check_master(SparkSettings(master=f"spark://127.0.0.1:{reachable}"))
    check_master(SparkSettings(master=f"spark://127.0.0.1:{unreachable},127.0.0.1:{reachable}"))


def test_unreachable_masters_are_named(unreachable: int) -> None:
    settings = SparkSettings(master=f"spark://127.0.0.1:{unreachable},host.invalid:7077,a..b:7077")
    error = rf"127.0.0.1:{unreachable}: .*refused.*; host.invalid:7077: .*; a..b:7077: .*"
    with pytest.raises(SparkFailed, match=error):
        check_master(settings)


def test_master_in_conf_overrides_the_setting(unreachable: int) -> None:
    away = f"spark://127.0.0.1:{unreachable}"
    check_master(SparkSettings(master=away, conf="spark.master=local[2]"))
    with pytest.raises(SparkFailed, match="cannot reach Spark master"):
        check_master(SparkSettings(conf=f"spark.master={away}"))


@pytest.mark.parametrize("master", ["local[*,3]", "yarn", "k8s://there:443", "spark://", "spark://x:y"])
def test_other_kinds_of_master_are_not_checked(master: str) -> None:
    check_master(SparkSettings(master=master))
