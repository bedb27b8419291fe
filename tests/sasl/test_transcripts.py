"""Recorded exchanges: the messages and results of Dray, and those of Apache Kafka where there is Java."""

import pytest

from tests.sasl.kafka_cases import cases
from tests.sasl.transcripts import (
    EXPLAINED,
    FILE,
    SAME,
    differences,
    recorded,
    results_of_kafka,
    run_on_dray,
    written,
)


def test_exchanges_are_those_recorded() -> None:
    assert written(recorded()) == FILE.read_text()


def test_every_difference_is_explained_and_every_explanation_is_needed() -> None:
    assert differences(recorded()) == set(EXPLAINED)


@pytest.mark.slow
@pytest.mark.real("java")
def test_results_of_kafka_are_those_recorded() -> None:
    expected = {
        case.name: run_on_dray(case)[1] if recorded()[case.name] == SAME else recorded()[case.name]
        for case in cases()
    }
    assert results_of_kafka() == expected
