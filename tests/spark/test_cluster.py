"""Compaction on a standalone cluster, whose workers share no files with the driver."""

import re
from functools import partial
from pathlib import Path

import pytest

from dray.compaction.rewrite import Rewritten
from dray.runtime import SystemClock, SystemEntropy, Tasks
from dray.spark.jvm import SparkFailed
from dray.spark.settings import SparkSettings
from tests.spark.cluster import standalone
from tests.spark.conftest import CACHE_FOLDER, WORKERS_IMPORT_TESTS
from tests.spark.logs import StoredLog
from tests.spark.stores import open_directory

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
    """Return the folders in which the cluster's workers have run executors."""
    return [path for path in folder.glob("work-*/app-*/*") if path.is_dir()]


async def test_cluster_writes_the_same_files_as_a_local_spark(
    log: StoredLog, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from dray.spark.engine import EngineDeps, SparkEngine

    folder: Path = tmp_path_factory.mktemp("cluster")
    with standalone(folder) as url:
        settings = SparkSettings(master=url, conf=CONF)
        engine = SparkEngine(EngineDeps(SystemClock(), SystemEntropy(), Tasks(), settings, CACHE_FOLDER))
        tasks = log.tasks(1) + log.tasks(2)
        try:
            answers = await engine.run_tasks(tasks, partial(open_directory, log.root))
        finally:
            await engine.close()
        used = executors(folder)
    for task, answer in zip(tasks, answers, strict=True):
        assert isinstance(answer, Rewritten), answer
        assert answer.file.path == task.path
        assert log.read(task.path) == log.records[task.stream]
    assert used


async def test_cluster_without_workers_fails_the_job_and_its_session(
    log: StoredLog, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dray.spark import job_monitor
    from dray.spark.engine import EngineDeps, SparkEngine

    monkeypatch.setattr(job_monitor, "ABORT_AFTER_S", 5.0)
    with standalone(tmp_path_factory.mktemp("cluster"), workers=0) as url:
        settings = SparkSettings(master=url, conf=CONF)
        engine = SparkEngine(EngineDeps(SystemClock(), SystemEntropy(), Tasks(), settings, CACHE_FOLDER))
        error = f"no executor takes tasks: check that spark.master={url} is up"
        try:
            with pytest.raises(SparkFailed, match=re.escape(error)):
                await engine.run_tasks(log.tasks(1)[:1], partial(open_directory, log.root))
            host = engine._host
            assert host is not None
            assert not await host.is_usable()
        finally:
            await engine.close()
