"""A Spark of Dray's own for a module, which knows the data source of these tests."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from dray.pipeline.spark.settings import SparkSettings
from dray.runtime import SystemClock
from tests.pipeline.spark.conftest import CACHE_FOLDER, WORKERS_IMPORT_TESTS
from tests.pipeline.spark.sink.folders import FolderSource, make_active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    from dray.pipeline.spark.session import SparkHost

    settings = SparkSettings(master="local[2,3]", conf=WORKERS_IMPORT_TESTS)
    host = asyncio.run(SparkHost.start(settings, CACHE_FOLDER, SystemClock()))
    session = host.session
    make_active(session)
    session.dataSource.register(FolderSource)
    yield session
    asyncio.run(host.close())
