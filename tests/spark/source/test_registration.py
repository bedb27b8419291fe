"""`pyspark_dray.register`, for sessions whose Python workers do not discover Dray."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parts import locate
from tests.spark.source.clusters import DiskCluster

pytestmark = [pytest.mark.slow, pytest.mark.real("java")]


def test_application_in_an_unactivated_virtual_environment_registers_the_source(tmp_path: Path) -> None:
    cluster = DiskCluster(tmp_path / "data")
    cluster.create("t")
    cluster.append("t", 0, batches=3)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(
        Path(sys.executable).resolve()
    )  # the one that .venv is made from
    kept = {name: os.environ[name] for name in ("HOME", "PYTHONPATH") if name in os.environ}
    environment = kept | {
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "JAVA_HOME": str(locate("java").resolve().parents[1]),
    }
    application = Path(__file__).with_name("unactivated.py")
    ran = subprocess.run(
        [sys.executable, application, cluster.folder],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert "DATA_SOURCE_NOT_FOUND" in found.pop("undiscovered")
    assert found == {"read": 30, "streamed": 60, "python_is_as_before": True}
