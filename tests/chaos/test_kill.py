"""Brokers are killed while idempotent producers run; a shorter run of what `make soak` does."""

from pathlib import Path

import pytest

from tests.chaos.kill import kill_again_and_again


@pytest.mark.slow
@pytest.mark.parametrize("brokers", [1, 2])
def test_every_acknowledged_record_is_there_once_and_in_order(brokers: int, tmp_path: Path) -> None:
    acknowledged, wrong = kill_again_and_again(6, brokers, tmp_path / "data")
    assert wrong == []
    assert acknowledged > 500
