"""The same job on a cluster: what a local Spark hides, such as workers that share nothing with the driver."""

import re
from functools import partial
from pathlib import Path

import pytest

from dray.pipeline.rewrite import Rewritten
from dray.pipeline.spark.jvm import SparkFailed
from dray.pipeline.spark.settings import SparkSettings
from dray.runtime import SystemClock, SystemEntropy, Tasks
from tests.pipeline.spark.cluster import standalone
from tests.pipeline.spark.conftest import CACHE_FOLDER, WORKERS_IMPORT_TESTS
from tests.pipeline.spark.logs import StoredLog
from tests.pipeline.spark.stores import open_directory

pytestmark = pytest.mark.real("java", "spark")

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF = "; ".join(
    [
        WORKERS_IMPORT_TESTS,
        "spark.driver.host=127.0.0.1",
        "spark.driver.bindAddress=127.0.0.1",
        "spark.executor.memory=500m",
        f"spark.executor.extraJavaOptions={QUICK}",
    ]
)


def executors(folder: Path) -> list[Path]:
    """The folders in which the cluster's workers have run something for us."""
    return [path for path in folder.glob("work-*/app-*/*") if path.is_dir()]


async def test_a_cluster_writes_what_a_local_spark_does(
    log: StoredLog, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from dray.pipeline.spark.job import EngineParts, SparkEngine

    folder: Path = tmp_path_factory.mktemp("cluster")
    with standalone(folder) as url:
        settings = SparkSettings(master=url, conf=CONF)
        engine = SparkEngine(EngineParts(SystemClock(), SystemEntropy(), Tasks(), settings, CACHE_FOLDER))
        tasks = log.tasks(1) + log.tasks(2)
        try:
            answers = await engine.perform(tasks, partial(open_directory, log.root))
        finally:
            await engine.close()
        used = executors(folder)
    for task, answer in zip(tasks, answers, strict=True):
        assert isinstance(answer, Rewritten), answer
        assert answer.place.path == task.path
        assert log.read(task.path) == log.records[task.stream]
    assert used


async def test_a_cluster_that_has_nobody_is_told_and_spark_started_again(
    log: StoredLog, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dray.pipeline.spark import watching
    from dray.pipeline.spark.job import EngineParts, SparkEngine

    monkeypatch.setattr(watching, "GIVEN_UP_AFTER_S", 5.0)
    with standalone(tmp_path_factory.mktemp("cluster"), workers=0) as url:
        settings = SparkSettings(master=url, conf=CONF)
        engine = SparkEngine(EngineParts(SystemClock(), SystemEntropy(), Tasks(), settings, CACHE_FOLDER))
        told = f"no executor works for us: see that spark.master={url} is up"
        try:
            with pytest.raises(SparkFailed, match=re.escape(told)):
                await engine.perform(log.tasks(1)[:1], partial(open_directory, log.root))
            host = engine._host
            assert host is not None
            assert not await host.is_usable()
        finally:
            await engine.close()
