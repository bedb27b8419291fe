"""Replay of every scenario on Dray: equal to the recording of Apache Kafka, except for known differences.

To see a difference: `python -m tests.groups.golden <scenario>`. To record again, when a scenario was changed
or added: `python -m tests.groups.golden --record <scenario>`. To store a difference of Dray, once its reason
is in `differences`: `python -m tests.groups.golden --accept <scenario>`.
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
def test_dray_replays_as_kafka_recorded(name: str, brokers: int) -> None:
    scenario = SCENARIOS[name]
    played = replay(scenario, brokers)
    contradicting = unexplained(contradictions(name, scenario.recorded(), played))
    assert not contradicting, "\n".join(map(str, contradicting))
    assert difference(scenario.recorded(), played) == scenario.accepted()


@pytest.mark.slow
def test_every_known_difference_occurs() -> None:
    found = [
        one
        for name, scenario in SCENARIOS.items()
        for one in contradictions(name, scenario.recorded(), replay(scenario))
    ]
    unused = [known.where for known in DIFFERENCES if not any(known.explains(one) for one in found)]
    assert not unused, "these differences no longer occur; remove them"


def test_every_transcript_has_a_scenario() -> None:
    kept = {path.relative_to(TRANSCRIPTS).with_suffix("").as_posix() for path in TRANSCRIPTS.rglob("*.*")}
    assert kept == SCENARIOS.keys()


def test_replay_is_deterministic() -> None:
    scenario = SCENARIOS["consumers/three_members"]
    assert replay(scenario) == replay(scenario)
