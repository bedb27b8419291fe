"""What Spark starts in place of its own daemon, from which all Python workers are forked.

It loads what every task needs and readies the kernels, so that a worker has them from birth: workers are
ended when they idle for a minute, and the next job would wait for seconds. Nothing here may start a thread,
for none would outlive the fork.

Before every task Spark has a worker forget what it knows of the import path, because files may have been
added to it. For an archive that means reading all its names again, and Spark puts its own there, one of them
with thousands of classes: a tenth of a second of a processor, more than a small task takes. Archives do not
change while a session lives, so here they are not read again.
"""

import gc
from zipimport import zipimporter

from pyspark.daemon import manager

from dray.pipeline.spark import worker  # noqa: F401 - loaded for those that are forked
from dray.records import Record, encode_batch
from dray.records.columns import StoredBatch, decode


def ready_kernels() -> None:
    """Have the kernels compiled or loaded."""
    for _ in decode(0, [StoredBatch(0, encode_batch([Record(0, 0, None, b"", ())]))]):
        pass


def keep_archives_read() -> None:
    """Let `importlib.invalidate_caches` leave archives alone, in this process and those forked from it."""
    zipimporter.invalidate_caches = _leave_alone  # type: ignore[method-assign]


def _leave_alone(self: zipimporter) -> None: ...


if __name__ == "__main__":
    keep_archives_read()
    ready_kernels()
    # A worker collects garbage after each task, and would go through all of numba's objects every time.
    gc.collect()
    gc.freeze()
    manager()  # type: ignore[no-untyped-call]
