"""The recording is what Apache Kafka answers: a sample of it is recorded again."""

from pathlib import Path

import pytest

from tests.api.authorization.golden_files import path_of, read
from tests.api.authorization.recording import recorded

SAMPLE = (
    "DescribeTopicPartitions",
    "ListOffsets",
    "InitProducerId",
    "JoinGroup",
    "OffsetFetch",
    "DescribeGroups",
    "ConsumerGroupDescribe",
    "DescribeConfigs",
    "CreateAcls",
)
"""APIs whose requests change nothing, so that they take no time."""


@pytest.mark.slow
@pytest.mark.real("java")
def test_kafka_still_answers_as_recorded(tmp_path: Path) -> None:
    for api, text in recorded(tmp_path, SAMPLE):
        assert read(text) == read(path_of(api).read_text()), api
