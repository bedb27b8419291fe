"""What Spark writes with `format("dray")` is what Kafka's clients and the table's readers see."""

from pathlib import Path

import pytest

from tests.agreement.backfill import agree

pytestmark = [pytest.mark.slow, pytest.mark.real("java", "spark")]


def test_a_backfill_is_read_by_java_and_counted_in_the_table(tmp_path: Path) -> None:
    agree(tmp_path, 20_000)
