"""The same where nothing is embedded: S3, a REST catalogue, a Spark cluster."""

from pathlib import Path

import pytest

from tests.agreement.cluster import agree

pytestmark = [pytest.mark.slow, pytest.mark.real("java", "spark", "seaweedfs")]


def test_four_readers_agree_when_all_is_spread_out(tmp_path: Path) -> None:
    agree(tmp_path, 20_000)
