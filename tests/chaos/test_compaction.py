"""Those who take part in compaction are killed in the middle of it; shorter runs of what `make soak` does."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.chaos import __main__ as soaking
from tests.chaos.__main__ import Amounts, main
from tests.chaos.compaction import grounds, ordeal
from tests.chaos.compaction.ordeal import Leg, Plan, undergo
from tests.chaos.compaction.points import STATES
from tests.chaos.compaction.victims import VICTIMS

LEGS = (
    Leg("worker", "created", 1, ("in spark wal",)),
    Leg("broker", "written", 1, ("before table wal",)),
    Leg("compactor", "tabled", 1, ("before swap wal",)),
)


@pytest.mark.slow
@pytest.mark.real("java", "spark")
@pytest.mark.timeout(900)  # on a busy machine starting Spark takes long
def test_stream_and_table_outlive_whoever_is_killed(tmp_path: Path) -> None:
    """Both are the same as what was acknowledged, and after a sweep nothing is missing or left over."""
    said: list[str] = []
    figures = undergo(Plan(LEGS, grounds.embedded, rests=False), tmp_path / "data", said.append)
    assert figures.wrong == ()
    assert figures.faults == {"created": 1, "written": 1, "tabled": 1}
    assert figures.followed >= figures.acknowledged > 500
    assert "before table wal" in said[-1]


@pytest.mark.slow
@pytest.mark.real("java", "spark")
@pytest.mark.timeout(900)
def test_a_compactor_that_does_not_look_is_found_out(tmp_path: Path) -> None:
    """It dies when its rows are in the table and nobody knows; the next one puts them there again.

    With this seed nothing is deleted from the log: this compactor would never cut a file, and be waited for.
    """
    legs = [Leg("compactor", "written", 1, ("after table wal",))]
    plan = Plan(legs, grounds.embedded, seed=2, program=("tests.chaos.compaction.broken",))
    figures = undergo(plan, tmp_path / "data", lambda _: None)
    assert not any(line.startswith("goes on: ") for line in figures.wrong)
    assert [line for line in figures.wrong if line.startswith("whole: ") and "again" in line]


def test_all_victims_in_all_states_are_parts_of_the_soak(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plans: dict[str, Plan] = {}

    def remember(parts: dict[str, soaking.Part], amounts: Amounts) -> int:
        for name, part in parts.items():
            monkeypatch.setattr(ordeal, "undergo", lambda plan, *_, name=name: plans.update({name: plan}))
            part(amounts, tmp_path, lambda _: None)
        return 0

    monkeypatch.setattr(soaking, "soak", remember)
    chosen = [name for name in soaking.PARTS if name.startswith("compaction-")]
    only = [word for name in chosen for word in ("--only", name)]
    assert CliRunner().invoke(main, [*only, "--seed", "3"]).exit_code == 0
    for victim in VICTIMS:
        legs = [Leg(victim, state, 20) for state in STATES]
        assert plans[f"compaction-s3-{victim}"] == Plan(legs, grounds.served, 3)
        assert plans[f"compaction-{victim}"].legs == legs
