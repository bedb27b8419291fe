"""The contract of metadata stores: tests that every backend must pass.

A test module subclasses `MetaContract` and provides the fixture `harness`, one empty store per test:

    class TestMemory(MetaContract):
        @pytest.fixture
        async def harness(self) -> AsyncIterator[MetaHarness]: ...

The tests assume only what the port promises: versions are compared only for equality and for one key,
positions not at all, watches may merge changes, and scans cover one number of slashes.
"""

import pytest

from dray.meta.port import MetaStore
from dray.testing.contracts.meta_commit import CommitContract
from dray.testing.contracts.meta_harness import MetaHarness
from dray.testing.contracts.meta_scan import ScanContract
from dray.testing.contracts.meta_session import SessionContract
from dray.testing.contracts.meta_snapshot import SnapshotContract
from dray.testing.contracts.meta_watch import WatchContract

__all__ = ["MetaContract", "MetaHarness"]


class MetaContract(CommitContract, ScanContract, WatchContract, SessionContract, SnapshotContract):
    """All parts of the contract."""

    @pytest.fixture
    async def store(self, harness: MetaHarness) -> MetaStore:
        return await harness.open()
