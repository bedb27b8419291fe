"""Recording from a real Apache Kafka: some transcripts must equal the stored ones."""

from pathlib import Path

import pytest

from tests.groups.golden.playbook import SCENARIOS
from tests.groups.golden.profiles import PROFILES, kafka_settings
from tests.groups.golden.recording import record

SOME = (
    "joining/two_members",
    "static_members/leader_replaced_v9",
    "offsets/of_a_preparing_group",
    "groups/listing",
    "consumers/two_members",
    "migration/upgrade",
)


@pytest.mark.real("java")
def test_recording_again_gives_the_same_transcripts(tmp_path: Path) -> None:
    texts = record("plain", [SCENARIOS[name] for name in SOME], tmp_path)
    assert texts == {name: SCENARIOS[name].recorded() for name in SOME}


def test_every_profile_is_used_and_unique() -> None:
    assert {scenario.profile for scenario in SCENARIOS.values()} == PROFILES.keys()
    assert len({tuple(kafka_settings(profile).items()) for profile in PROFILES}) == len(PROFILES)
