"""On-disk formats, one module per format and version, each with golden bytes kept for ever. Pure: bytes in,
values out.

`wal_v1` is meant to be used by its name: `wal_v1.encode(…)`, `wal_v1.decode(…)`.
"""

from dray.formats import wal_v1

__all__ = ["wal_v1"]
