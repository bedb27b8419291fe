"""Commands of an installation without extras, where no library for tables and Spark can be imported."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.cli.clusters import file_cluster
from tests.cli.invoking import invoke_ok

WITHOUT_EXTRAS: Final = """
import sys
EXTRAS = {"duckdb", "numba", "numpy", "pandas", "pyarrow", "pyiceberg", "pyspark"}
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NotInstalled())
"""


def python(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS + code, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={name: value for name, value in os.environ.items() if not name.startswith("DRAY_")},
    )


def test_compaction_status_needs_no_extra(tmp_path: Path) -> None:
    with file_cluster(tmp_path) as cluster:
        invoke_ok("topics", "create", "orders", kafka=cluster.kafka)
        run = "from dray.cli.main import main; sys.argv[0] = 'dray'; main()"
        status = python(run, "compaction", "status", *cluster.flags)
    assert status.returncode == 0, status.stderr
    assert status.stdout.startswith("topic orders\n")


def test_import_of_the_spark_source_names_the_missing_extra() -> None:
    imported = python("import pyspark_dray")
    assert imported.returncode == 1
    assert imported.stderr.endswith("\nImportError: missing package: pyarrow; install dray[spark]\n")
    assert imported.stderr.count("Traceback") == 1
