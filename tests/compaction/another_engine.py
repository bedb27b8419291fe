"""Another engine that rewrites data files of a table and deletes the originals."""

import io
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from dray.tables.port import LiveFile
from tests.compaction.passes import CompactorRig

Change = Callable[[pa.Table], pa.Table]


async def rewrite_data_files(
    made: CompactorRig,
    topic: str,
    change: Change = lambda rows: rows,
    *,
    path: str = "",
    count: int | None = None,
) -> list[str]:
    """Rewrite the first files as one, newest row first, and delete them; returns their paths."""
    files = (await made.files(topic))[:count]
    paths = [file.path for file in files]
    rows = pa.concat_tables([_read(made, one) for one in paths]).sort_by([("offset", "descending")])
    theirs = path or f"iceberg/topic={topic}/data/partition=0/00000-1.parquet"
    put(made, theirs, change(rows))
    offsets = rows.column("offset").to_pylist()
    live = LiveFile(theirs, 1, len(offsets), 0, min(offsets), max(offsets))
    made.catalog.external_commit(made.table(topic), paths, [live])
    await lose(made, paths)
    return paths


async def lose(made: CompactorRig, paths: Sequence[str]) -> None:
    for path in paths:
        made.rig.bucket.delete(path)


def put(made: CompactorRig, path: str, rows: pa.Table) -> None:
    if "//" in path:
        return  # it is in another bucket
    output = io.BytesIO()
    pq.write_table(rows, output, row_group_size=2, compression="snappy")
    made.rig.bucket.put_new(path, [output.getvalue()])


def _read(made: CompactorRig, path: str) -> pa.Table:
    return pq.read_table(io.BytesIO(made.rig.bucket.get(path)))
