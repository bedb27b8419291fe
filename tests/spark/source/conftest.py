"""Spark session, one per module, as a user creates it: nothing about Dray is set or registered."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from dray.runtime import SystemClock
from dray.spark.settings import SparkSettings
from tests.spark.conftest import CACHE_FOLDER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    from dray.spark.session import SparkHost

    settings = SparkSettings(master="local[2,3]", conf="spark.sql.shuffle.partitions=2")
    host = asyncio.run(SparkHost.start(settings, CACHE_FOLDER, SystemClock()))
    yield host.session
    asyncio.run(host.close())
