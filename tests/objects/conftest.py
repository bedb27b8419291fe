"""One SeaweedFS for all tests of a worker, started when the first test asks for it."""

from collections.abc import Iterator

import pytest

from dray.testing import seaweedfs
from dray.testing.seaweedfs import SeaweedFS


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with seaweedfs.serve(tmp_path_factory.mktemp("seaweedfs")) as server:
        server.make_bucket("dray")
        yield server
