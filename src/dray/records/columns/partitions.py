"""Which partition Kafka's default partitioner gives each key of a column."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dray.records.columns import partition_kernel as kernel


def partitions_of(keys: pa.Array, partitions: int) -> NDArray[np.int32]:
    """Return the partition of every key, of type binary; what stands for a null is of no meaning."""
    found = np.zeros(len(keys), np.int32)
    _, ends, data = keys.buffers()
    if len(keys) and ends is not None:
        offsets = np.frombuffer(ends, np.int32)[keys.offset : keys.offset + len(keys) + 1]
        kernel.place(data.address if data else 0, offsets, partitions, found)
    return found
