"""The contract over an emulator of Google Cloud Storage."""

import itertools
from collections.abc import AsyncIterator

import pytest

from dray.objects.cloud import open_gcs
from dray.objects.port import ObjectStore
from dray.objects.url import StorageUrl
from dray.runtime import SystemClock
from dray.testing.contracts.objects import ObjectContract
from tests.objects.emulators import CONTAINER, GcsServer
from tests.objects.refusals import refusals

pytestmark = [pytest.mark.real("gcs"), pytest.mark.slow]

_numbers = itertools.count()


class TestGcs(ObjectContract):
    @pytest.fixture
    async def store(self, gcs: GcsServer) -> AsyncIterator[ObjectStore]:
        url = StorageUrl("gs", CONTAINER, f"test/{next(_numbers)}")
        store = open_gcs(url, gcs.settings(), SystemClock())
        yield store
        await store.close()


async def test_missing_bucket_is_reported(gcs: GcsServer) -> None:
    store = open_gcs(StorageUrl("gs", "nothing-created-this", "test"), gcs.settings(), SystemClock())
    for message in await refusals(store):
        assert f"gs://nothing-created-this/test at {gcs.endpoint}: HTTP 404 NoSuchBucket" in message
        assert "create the bucket or container" in message
