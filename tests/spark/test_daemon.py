"""Daemon that forks Spark's Python workers: archives on the import path are read once."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

pytestmark = pytest.mark.real("spark")

READS_ARCHIVES_AGAIN = """
import importlib, sys
from dray.spark.daemon import keep_archive_caches

archive, kept = sys.argv[1:]
sys.path.insert(0, archive)
import inside
if kept == "kept":
    keep_archive_caches()
opened = []
sys.addaudithook(lambda event, given: opened.append(given[0]) if event == "open" else None)
importlib.invalidate_caches()
import beside
print(archive in opened, inside.__name__, beside.__name__)
"""


@pytest.mark.parametrize(("kept", "reread"), [("kept", "False"), ("not", "True")])
def test_archives_are_not_read_again_before_a_task(tmp_path: Path, kept: str, reread: str) -> None:
    """Their modules can still be imported. Without `keep_archive_caches` they are read again."""
    archive = tmp_path / "modules.zip"
    with ZipFile(archive, "w") as made:
        made.writestr("inside.py", "")
    (tmp_path / "beside.py").touch()
    ran = subprocess.run(
        [sys.executable, "-c", READS_ARCHIVES_AGAIN, str(archive), kept],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == [reread, "inside", "beside"]
