"""What Spark starts in place of its own daemon, from which all Python workers are forked.

It loads what every task needs and readies the kernels, so that a worker has them from birth: workers are
ended when they idle for a minute, and the next job would wait for seconds. Nothing here may start a thread,
for none would outlive the fork.
"""

import gc

from pyspark.daemon import manager

from dray.pipeline.spark import worker  # noqa: F401 - loaded for those that are forked
from dray.records import Record, encode_batch
from dray.records.columns import StoredBatch, decode


def ready_kernels() -> None:
    """Have the kernels compiled or loaded."""
    for _ in decode(0, [StoredBatch(0, encode_batch([Record(0, 0, None, b"", ())]))]):
        pass


if __name__ == "__main__":
    ready_kernels()
    # A worker collects garbage after each task, and would go through all of numba's objects every time.
    gc.collect()
    gc.freeze()
    manager()  # type: ignore[no-untyped-call]
