"""Responses of Dray and Apache Kafka to the same requests: equal, except for known differences.

A scenario sends requests; each broker's responses are recorded without ids, ports and times (`transcripts`)
and compared. The deliberate differences, with their reasons, are in `differences`.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from uuid import uuid4

import pytest

from dray.api.dispatch import SERVED
from dray.testing import EmbeddedBroker, broker
from tests.oracle.differences import DIFFERENCES, Difference
from tests.oracle.kafka import Kafka
from tests.oracle.request_client import request_client
from tests.oracle.scenarios import (
    acls,
    cluster,
    configs,
    deviations,
    fetch,
    group_configs,
    produce,
    quotas,
    records,
    scram,
    sessions,
    throttling,
    topics,
)
from tests.oracle.transcripts import Contradiction, RecordedResponse, ResponseRecorder, contradictions

MODULES = (
    acls,
    cluster,
    configs,
    deviations,
    fetch,
    group_configs,
    produce,
    quotas,
    records,
    scram,
    sessions,
    throttling,
    topics,
)
ANSWER_S = 30.0
RECORDED_FOR_USERS = {"SaslHandshake", "SaslAuthenticate"}
"""APIs whose answers to users were recorded from Kafka, by tests/api/authorization."""
GOLDEN = Path(__file__).parents[1] / "groups" / "golden" / "transcripts"

Scenario = Callable[[ResponseRecorder], None]


@pytest.fixture(scope="module")
def dray_with_kafkas_number() -> Iterator[EmbeddedBroker]:
    with broker({"broker.id": "1"}) as running:
        yield running


def transcript(scenario: Scenario, address: tuple[str, int]) -> list[RecordedResponse]:
    with request_client(address, ANSWER_S) as client:
        recorder = ResponseRecorder(client, uuid4().hex[:8])
        scenario(recorder)
        return recorder.responses


def compared(module: ModuleType, kafka: Kafka, dray: EmbeddedBroker) -> Iterator[Contradiction]:
    for scenario in module.SCENARIOS:
        theirs = transcript(scenario, kafka.address)
        ours = transcript(scenario, (dray.host, dray.port))
        yield from contradictions(scenario.__name__, theirs, ours)


def short(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


@pytest.mark.real("java")
@pytest.mark.parametrize("module", MODULES, ids=short)
def test_dray_answers_as_kafka_does(
    module: ModuleType, apache_kafka: Kafka, dray_with_kafkas_number: EmbeddedBroker
) -> None:
    unused: set[Difference] = {one for one in DIFFERENCES if short(module) in one.where}
    unexplained = []
    for found in compared(module, apache_kafka, dray_with_kafkas_number):
        reasons = {one for one in DIFFERENCES if one.explains(short(module), found)}
        unused -= reasons
        if not reasons:
            unexplained.append(str(found))
    assert not unexplained, "\n".join(unexplained)
    assert not unused, "these differences have gone; take them out"


def test_every_api_is_compared(dray_with_kafkas_number: EmbeddedBroker) -> None:
    address = dray_with_kafkas_number.host, dray_with_kafkas_number.port
    asked = {
        response.api
        for module in MODULES
        if module is not deviations  # thousands of requests, but no other APIs
        for scenario in module.SCENARIOS
        for response in transcript(scenario, address)
    }
    assert asked | in_golden_transcripts() | RECORDED_FOR_USERS >= {
        served.api.name for served in SERVED.values()
    }


def in_golden_transcripts() -> set[str]:
    """Return the APIs of groups: recorded from Kafka, and replayed by tests/groups/golden."""
    found = (re.findall(r" asks (\w+) v\d+", file.read_text()) for file in GOLDEN.rglob("*.txt"))
    return set().union(*found)
