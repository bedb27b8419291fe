"""Rows by their offsets, which ascend."""

import numpy as np
import pyarrow as pa


def since(rows: pa.RecordBatch, first_offset: int) -> pa.RecordBatch:
    """Return the rows from an offset on, without copying them; it may lie in a gap, or behind them all."""
    offsets = rows.column("offset").to_numpy()
    return rows.slice(int(np.searchsorted(offsets, first_offset)))
