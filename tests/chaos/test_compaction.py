"""Processes killed in the middle of compaction: shorter runs of what `make soak` does."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.chaos import __main__ as soaking
from tests.chaos.__main__ import Amounts, main
from tests.chaos.compaction import deployments, experiment
from tests.chaos.compaction.experiment import Phase, Plan, run
from tests.chaos.compaction.points import STATES
from tests.chaos.compaction.victims import VICTIMS

PHASES = (
    Phase("worker", "created", 1, ("in spark wal",)),
    Phase("broker", "written", 1, ("before table wal",)),
    Phase("compactor", "published", 1, ("before swap wal",)),
)


@pytest.mark.slow
@pytest.mark.real("java", "spark")
@pytest.mark.timeout(900)  # on a busy machine starting Spark takes long
def test_stream_and_table_survive_kills_during_compaction(tmp_path: Path) -> None:
    """Both match what was acknowledged, and after a sweep no object is missing or left over."""
    reports: list[str] = []
    figures = run(
        Plan(PHASES, deployments.embedded, sweep_between_phases=False), tmp_path / "data", reports.append
    )
    assert figures.violations == ()
    assert figures.faults == {"created": 1, "written": 1, "published": 1}
    assert figures.consumed >= figures.acknowledged > 500
    assert "before table wal" in reports[-1]


@pytest.mark.slow
@pytest.mark.real("java", "spark")
@pytest.mark.timeout(900)
def test_compactor_that_commits_a_job_twice_violates_the_rules(tmp_path: Path) -> None:
    """Killed after the table commit and before the job records it, its successor adds the rows again.

    With this seed no records are deleted: this compactor would never rewrite a file, and
    the run would time out.
    """
    phases = [Phase("compactor", "written", 1, ("after table wal",))]
    plan = Plan(phases, deployments.embedded, seed=2, program=("tests.chaos.compaction.broken",))
    figures = run(plan, tmp_path / "data", lambda _: None)
    assert not any(line.startswith("progress: ") for line in figures.violations)
    assert [line for line in figures.violations if line.startswith("complete: ") and "again" in line]


def test_soak_covers_all_victims_in_all_states(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plans: dict[str, Plan] = {}

    def record(parts: dict[str, soaking.Part], amounts: Amounts) -> int:
        for name, part in parts.items():
            monkeypatch.setattr(experiment, "run", lambda plan, *_, name=name: plans.update({name: plan}))
            part(amounts, tmp_path, lambda _: None)
        return 0

    monkeypatch.setattr(soaking, "soak", record)
    chosen = [name for name in soaking.PARTS if name.startswith("compaction-")]
    only = [word for name in chosen for word in ("--only", name)]
    assert CliRunner().invoke(main, [*only, "--seed", "3"]).exit_code == 0
    for victim in VICTIMS:
        phases = [Phase(victim, state, 20) for state in STATES]
        assert plans[f"compaction-s3-{victim}"] == Plan(phases, deployments.s3, 3)
        assert plans[f"compaction-{victim}"].phases == phases
