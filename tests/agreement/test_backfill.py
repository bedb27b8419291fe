"""Backfill: rows that Spark writes, as Kafka clients and readers of the table see them."""

from pathlib import Path

import pytest

from tests.agreement.backfill import agree

pytestmark = [pytest.mark.slow, pytest.mark.real("java", "spark")]


def test_backfill_is_complete_for_java_and_in_the_table(tmp_path: Path) -> None:
    agree(tmp_path, 20_000)
