"""A process that does the same jobs every time it is started, and says each when it is done.

python -m tests.tables.appending_process <catalog file> <root> <jobs>
"""

import asyncio
import sys
from pathlib import Path

from dray.runtime import SystemClock, SystemEntropy
from dray.tables.iceberg import IcebergSettings, IcebergTables, SqlCatalogSettings
from dray.tables.names import table_folder
from dray.tables.port import DataFile, Job, TopicTable
from tests.tables.parquet import ParquetFiles

TABLE = TopicTable("orders", "topic-id-1")
RECORDS = 5


def settings(catalog: Path, root: Path) -> IcebergSettings:
    sql = SqlCatalogSettings(path=str(catalog))
    return IcebergSettings(catalog=sql, root=root.as_uri(), cluster_id="cluster-1")


def work(jobs: int) -> list[tuple[DataFile, Job]]:
    files = ParquetFiles()
    return [
        (files.file(0, n * RECORDS, RECORDS), Job(f"job-{n}", {0: (n + 1) * RECORDS})) for n in range(jobs)
    ]


async def main(catalog: Path, root: Path, jobs: int) -> None:
    tables = IcebergTables(settings(catalog, root), SystemClock(), SystemEntropy())
    await tables.create_if_missing(TABLE, table_folder(TABLE.topic))
    for file, job in work(jobs):
        await tables.append(TABLE, [file], job)
        sys.stdout.write(f"{job.id}\n")
        sys.stdout.flush()
    await tables.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
