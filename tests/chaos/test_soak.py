"""Command behind `make soak`, with tiny amounts."""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.chaos import __main__ as soaking
from tests.chaos.__main__ import PARTS, Amounts, main, soak
from tests.chaos.experiment import Figures

ROOT = Path(__file__).parents[2]
TINY = Amounts(seeds=1, kills=1, stalls=1, seed=1, options=())


@pytest.mark.slow
def test_parts_run_in_order_and_end_with_a_table() -> None:
    command = [sys.executable, "-m", "tests.chaos", "--only", "local-1", "--only", "sim"]
    amounts = ["--seeds", "3", "--kills", "1", "--", "--set", "log.linger_ms=5"]
    ran = subprocess.run(
        [*command, *amounts], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    progress, table = ran.stdout.split("\n\n")
    assert re.sub(r"\d+ s", "", progress).splitlines() == ["sim: 3 of 3, ", "local-1: 1 of 1, "]
    head, simulated, killed = table.splitlines()
    assert head.split()[:3] == ["part", "faults", "acknowledged"]
    for line, name in ((simulated, "sim"), (killed, "local-1")):
        part, _, acknowledged, _, _, violations, *_ = line.split()
        assert (part, violations) == (name, "0")
        assert int(acknowledged) > 0


def test_make_soak_is_this_command() -> None:
    shown = subprocess.run(
        ["make", "-n", "soak", "SOAK=--only s3-2"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.splitlines()
    assert shown == ["scripts/bootstrap spark", ".venv/bin/python -m tests.chaos --only s3-2"]


def test_a_part_runs_the_cluster_with_tls_for_a_third_of_the_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "python"
    program.write_text(f"""#!{sys.executable}
import json, sys
options = dict(zip(sys.argv[3:-1:2], sys.argv[4::2]))
found = {{"faults": {{}}, "violations": [sys.argv[-1], options["--minutes"]]}}
open(options["--figures"], "w").write(json.dumps(found))
""")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    figures = PARTS["cluster-tls"](replace(TINY, cluster_minutes=30.0), tmp_path, lambda _: None)
    assert figures.violations == ("--tls", "10.0")


def test_violation_fails_the_soak_after_all_parts_ran(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def violating(*_: object) -> Figures:
        return Figures(violations=("unique: p0/0/1 occurs 2 times",))

    def broken(*_: object) -> Figures:
        raise RuntimeError("there is no program `weed`")

    def passing(*_: object) -> Figures:
        return Figures(acknowledged=7)

    assert soak({"violating": violating, "broken": broken, "passing": passing}, TINY) == 1
    printed = capsys.readouterr().out
    assert "unique: p0/0/1 occurs 2 times" in printed
    assert "there is no program `weed`" in printed
    table = printed.split("\n\n")[-1].splitlines()[1:]
    assert [line.split()[0] for line in table] == ["violating", "broken", "passing"]
    kept = {path.name.rpartition("-")[0] for path in tmp_path.iterdir()}
    assert kept == {"dray-soak-violating", "dray-soak-broken"}, "kept for inspection"
    assert soak({"passing": passing}, TINY) == 0


def test_all_parts_run_at_full_size_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[tuple[list[str], Amounts]] = []

    def record(parts: dict[str, object], amounts: Amounts) -> int:
        runs.append((list(parts), amounts))
        return 0

    monkeypatch.setattr(soaking, "soak", record)
    assert CliRunner().invoke(main, []).exit_code == 0
    ((parts, amounts),) = runs
    assert parts == list(PARTS)
    assert (amounts.seeds, amounts.kills) == (10_000, 100)
    assert {"sim", "local-1", "local-2", "s3-1", "s3-2"} <= set(parts)
