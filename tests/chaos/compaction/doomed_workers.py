"""Spark's Python workers that kill themselves: in place of `dray.pipeline.spark.daemon`, which forks them.

The points are `before`, `in` and `after` each of `work`, all that a task does, and `put`, the last of it. The
order's path comes by the environment; each file there is one death.
"""

import gc
import os
from pathlib import Path

import pyarrow as pa
from pyspark.daemon import manager

from dray.pipeline.blocking import BlockingStore, StorageAccess
from dray.pipeline.spark import worker
from dray.pipeline.spark.daemon import ready_kernels
from dray.pipeline.work import Answer, Task
from dray.runtime import Entropy
from tests.chaos.compaction.doom import Doom

ORDER_VARIABLE = "DRAY_TEST_WORKER_ORDER"


def aim(doom: Doom) -> None:
    carry_out, put = worker.carry_out, worker._put

    def doomed_work(task: Task, access: StorageAccess) -> Answer:
        with doom.around("work"):
            return carry_out(task, access)

    def doomed_put(
        store: BlockingStore, task: Task, answer: Answer, whole: pa.Buffer, entropy: Entropy
    ) -> Answer:
        with doom.around("put"):
            return put(store, task, answer, whole, entropy)

    worker.carry_out = doomed_work
    worker._put = doomed_put


if __name__ == "__main__":
    aim(Doom(Path(os.environ[ORDER_VARIABLE])))
    ready_kernels()
    gc.collect()
    gc.freeze()
    manager()  # type: ignore[no-untyped-call]
