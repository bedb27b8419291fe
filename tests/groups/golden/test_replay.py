"""Dray plays every scenario as Apache Kafka did when it was recorded, but for known differences.

To look at a difference: `python -m tests.groups.golden <scenario>`. To record anew, when a scenario was
changed or added: `python -m tests.groups.golden --record <scenario>`. To keep what Dray does differently,
once its reason is in `differences`: `python -m tests.groups.golden --accept <scenario>`.
"""

import pytest

from tests.groups.golden.comparing import contradictions, difference
from tests.groups.golden.differences import DIFFERENCES, unexplained
from tests.groups.golden.playbook import SCENARIOS
from tests.groups.golden.registry import TRANSCRIPTS
from tests.groups.golden.replaying import replay

CLUSTERS = (1, 3)


@pytest.mark.parametrize("brokers", CLUSTERS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_dray_does_as_kafka_did(name: str, brokers: int) -> None:
    scenario = SCENARIOS[name]
    played = replay(scenario, brokers)
    strange = unexplained(contradictions(name, scenario.recorded(), played))
    assert not strange, "\n".join(map(str, strange))
    assert difference(scenario.recorded(), played) == scenario.accepted()


@pytest.mark.slow
def test_every_known_difference_shows() -> None:
    found = [
        one
        for name, scenario in SCENARIOS.items()
        for one in contradictions(name, scenario.recorded(), replay(scenario))
    ]
    gone = [known.where for known in DIFFERENCES if not any(known.explains(one) for one in found)]
    assert not gone, "these differences have gone; take them out"


def test_every_transcript_has_a_scenario() -> None:
    kept = {path.relative_to(TRANSCRIPTS).with_suffix("").as_posix() for path in TRANSCRIPTS.rglob("*.*")}
    assert kept == SCENARIOS.keys()


def test_the_same_play_gives_the_same_transcript() -> None:
    scenario = SCENARIOS["consumers/three_members"]
    assert replay(scenario) == replay(scenario)
