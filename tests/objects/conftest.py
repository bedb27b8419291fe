"""One server of each kind per worker, started by the first test that needs it."""

from collections.abc import Iterator

import pytest

from dray.testing import seaweedfs
from dray.testing.seaweedfs import SeaweedFS
from tests.objects.emulators import AzureServer, GcsServer, serve_azure, serve_gcs


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with seaweedfs.serve(tmp_path_factory.mktemp("seaweedfs")) as server:
        server.make_bucket("dray")
        yield server


@pytest.fixture(scope="session")
def gcs() -> Iterator[GcsServer]:
    with serve_gcs() as server:
        yield server


@pytest.fixture(scope="session")
def azure() -> Iterator[AzureServer]:
    with serve_azure() as server:
        yield server
