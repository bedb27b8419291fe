"""Faults injected into a whole cluster for half a minute: a short run of `make chaos`."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.cluster.schedule import schedule
from tests.oracle.environment import ROOT

SEED, SECONDS = 7, 30


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.real("namespaces", "etcd", "seaweedfs")
def test_cluster_violates_no_rule_while_faults_are_injected(tmp_path: Path) -> None:
    """Other tests run at the same time: bounds of recoveries are wide, and no compactor runs."""
    page, figures = tmp_path / "report.html", tmp_path / "figures.json"
    command = [sys.executable, "-m", "tests.chaos.cluster", "--seed", str(SEED)]
    command += ["--minutes", str(SECONDS / 60), "--patience", "10", "--no-compactor"]
    command += ["--report", str(page), "--figures", str(figures)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    found = json.loads(figures.read_text())
    faults = schedule(SEED, SECONDS)
    assert sorted(Counter(found["faults"]).elements()) == sorted(fault.kind for fault in faults)
    assert found["violations"] == []
    assert found["acknowledged"] > 1_000
    assert found["consumed"] >= found["acknowledged"]
    assert found["during_outages"] > 0, "the cluster keeps serving"
    written = page.read_text()
    assert f"{found['acknowledged']:,}" in written
    assert all(str(fault) in written for fault in faults)
    assert written.count("<svg") == 1
