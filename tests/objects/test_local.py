"""The contract of a local directory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dray.objects.local import LocalObjects
from dray.objects.port import ObjectStore
from dray.testing.contracts.objects import ObjectContract


class TestLocal(ObjectContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[ObjectStore]:
        store = await LocalObjects.open(tmp_path)
        yield store
        await store.close()
