"""Spark session, one per module, with the data source of these tests registered."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from dray.runtime import SystemClock
from dray.spark.settings import SparkSettings
from tests.spark.conftest import CACHE_FOLDER, WORKERS_IMPORT_TESTS
from tests.spark.sink.folders import FolderSource, make_active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    from dray.spark.session import SparkHost

    settings = SparkSettings(master="local[2,3]", conf=WORKERS_IMPORT_TESTS)
    host = asyncio.run(SparkHost.start(settings, CACHE_FOLDER, SystemClock()))
    session = host.session
    make_active(session)
    session.dataSource.register(FolderSource)
    yield session
    asyncio.run(host.close())
