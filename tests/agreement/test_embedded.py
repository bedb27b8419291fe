"""Agreement of Kafka, PyIceberg, DuckDB and Spark with Iceberg's own runtime on what librdkafka sent."""

from pathlib import Path

import pytest

from tests.agreement.embedded import agree

pytestmark = [pytest.mark.slow, pytest.mark.real("java", "spark")]


def test_four_readers_agree_with_what_was_sent(tmp_path: Path) -> None:
    agree(tmp_path, 20_000)
