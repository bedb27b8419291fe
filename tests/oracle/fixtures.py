"""Fixtures of the oracle, for the conftest of every suite that compares with Kafka."""

import os
from collections.abc import Iterator

import pytest

from tests.oracle.kafka import Kafka
from tests.oracle.shared import shared


@pytest.fixture(scope="session")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A real broker shared by all workers of the run; the test must be marked `real("java")`."""
    base = tmp_path_factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with shared(run / "apache-kafka") as broker:
        yield broker
