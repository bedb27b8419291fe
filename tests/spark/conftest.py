"""Compaction engine with its own Spark, one per module, and a log for it to rewrite."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dray.runtime import SystemClock, SystemEntropy, Tasks
from dray.spark.settings import SparkSettings
from tests.oracle.cache import CACHE
from tests.oracle.environment import ROOT
from tests.spark.logs import StoredLog, stored_log

if TYPE_CHECKING:
    from dray.spark.engine import SparkEngine

CACHE_FOLDER = CACHE / "dray-spark"
WORKERS_IMPORT_TESTS = f"spark.executorEnv.PYTHONPATH={ROOT}"


@pytest.fixture
def log(tmp_path: Path) -> StoredLog:
    return stored_log(tmp_path)


@pytest.fixture(scope="module")
def engine() -> "Iterator[SparkEngine]":
    from dray.spark.engine import EngineDeps, SparkEngine

    settings = SparkSettings(master="local[2,3]", conf=WORKERS_IMPORT_TESTS)
    deps = EngineDeps(SystemClock(), SystemEntropy(), Tasks(), settings, CACHE_FOLDER)
    made = SparkEngine(deps)
    yield made
    asyncio.run(made.close())
    assert not [name for name in os.environ if name.startswith("PYSPARK_GATEWAY")]
