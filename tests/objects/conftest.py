"""One SeaweedFS per worker, started by the first test that needs it."""

from collections.abc import Iterator

import pytest

from dray.testing import seaweedfs
from dray.testing.seaweedfs import SeaweedFS


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with seaweedfs.serve(tmp_path_factory.mktemp("seaweedfs")) as server:
        server.make_bucket("dray")
        yield server
