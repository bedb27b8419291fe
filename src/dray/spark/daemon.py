"""Daemon from which Spark forks its Python workers, in place of Spark's own.

It imports the modules of every task and loads the compiled kernels before the fork: Spark ends workers that
idle for a minute, and the next job would wait for seconds. Nothing here may start a thread, because threads
do not survive a fork.

Before each task Spark makes a worker invalidate its import caches, because files may have been added to the
import path. For archives that means reading their directories again, and one of Spark's own has thousands of
classes: 0.1 s of CPU time, more than a small task takes. Archives do not change during a session, so theirs
are kept.
"""

import gc
from zipimport import zipimporter

from pyspark.daemon import manager

from dray.records import Record, encode_batch
from dray.records.columns import StoredBatch, decode
from dray.spark import worker  # noqa: F401 - imported for the forked workers


def ready_kernels() -> None:
    """Compile the kernels, or load them from the cache."""
    for _ in decode(0, [StoredBatch(0, encode_batch([Record(0, 0, None, b"", ())]))]):
        pass


def keep_archive_caches() -> None:
    """Exclude archives from `importlib.invalidate_caches`, in this process and its forks."""
    zipimporter.invalidate_caches = _leave_alone  # type: ignore[method-assign]


def _leave_alone(self: zipimporter) -> None: ...


if __name__ == "__main__":
    keep_archive_caches()
    ready_kernels()
    # Workers collect garbage after each task, and would traverse all of numba's objects every time.
    gc.collect()
    gc.freeze()
    manager()  # type: ignore[no-untyped-call]
