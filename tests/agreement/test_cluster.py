"""Agreement of readers in a distributed deployment: S3, a REST catalog, a Spark cluster."""

from pathlib import Path

import pytest

from tests.agreement.cluster import agree

pytestmark = [pytest.mark.slow, pytest.mark.real("java", "spark", "seaweedfs")]


def test_four_readers_agree_in_a_distributed_deployment(tmp_path: Path) -> None:
    agree(tmp_path, 20_000)
