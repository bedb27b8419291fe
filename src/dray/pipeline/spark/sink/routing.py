"""Which partition each row goes to: where it says, else by its key as any Kafka client would, else evenly.

Rows without a key are dealt out in runs, one a partition, so that batches are large. A task begins with its
own number, so that small tasks do not all begin with the same partition; that it is the number and not chance
makes a task that is done again do the same.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dray.pipeline.spark.sink.errors import CannotWrite
from dray.records.columns.partitions import partitions_of


def route(said: NDArray[np.int64], key: pa.Array, partitions: int, first: int) -> NDArray[np.int32]:
    """Return the partition of every row; `said` is -1 where the row leaves it open."""
    if len(said) and said.max() >= partitions:
        raise CannotWrite(
            f"a row is for partition {said.max()}; the topic has {partitions}, 0 to {partitions - 1}"
        )
    keyless = key.is_null().to_numpy(zero_copy_only=False)
    routed = np.where(said >= 0, said, partitions_of(key, partitions)).astype(np.int32)
    loose = np.flatnonzero((said < 0) & keyless)
    routed[loose] = (first + np.arange(len(loose)) * partitions // max(len(loose), 1)) % partitions
    return routed
