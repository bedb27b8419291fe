"""Spark's Python workers with failpoints; runs in place of `dray.spark.daemon`, which forks them.

The points are `before`, `in` and `after` each of `work`, the whole task, and `put`, its last step. The path
of the arming file comes from the environment; each file there kills one worker.
"""

import gc
import os
from pathlib import Path

import pyarrow as pa
from pyspark.daemon import manager

from dray.compaction.tasks import Task, TaskOutput
from dray.runtime import Entropy
from dray.scan.access import StorageAccess
from dray.scan.blocking import BlockingStore
from dray.spark import worker
from dray.spark.daemon import ready_kernels
from tests.chaos.compaction.failpoints import Failpoints

ARMED_VARIABLE = "TESTS_WORKER_FAILPOINT"


def instrument(failpoints: Failpoints) -> None:
    run_task, put = worker.run_task, worker._put

    def instrumented_work(task: Task, access: StorageAccess) -> TaskOutput:
        with failpoints.around("work"):
            return run_task(task, access)

    def instrumented_put(
        store: BlockingStore, task: Task, output: TaskOutput, whole: pa.Buffer, entropy: Entropy
    ) -> TaskOutput:
        with failpoints.around("put"):
            return put(store, task, output, whole, entropy)

    worker.run_task = instrumented_work
    worker._put = instrumented_put


if __name__ == "__main__":
    instrument(Failpoints(Path(os.environ[ARMED_VARIABLE])))
    ready_kernels()
    gc.collect()
    gc.freeze()
    manager()  # type: ignore[no-untyped-call]
