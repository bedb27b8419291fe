"""On-disk formats, one module per format version, each with golden bytes that never change. Pure.

Use `wal_v1` by its name: `wal_v1.encode(…)`, `wal_v1.decode(…)`.
"""

from dray.formats import wal_v1

__all__ = ["wal_v1"]
