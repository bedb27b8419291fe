"""The contract over a real S3 server, and its refusals."""

import asyncio
import itertools
import sys
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from dray.objects.cloud import CloudObjects, S3Settings, open_s3
from dray.objects.port import NotFound, ObjectStore, StoreUnusable
from dray.objects.url import StorageUrl
from dray.runtime import SystemClock
from dray.testing.contracts.objects import ObjectContract
from dray.testing.seaweedfs import SECRET, SeaweedFS
from tests.objects.refusals import refusals

pytestmark = pytest.mark.real("seaweedfs")

_numbers = itertools.count()


def open_at(settings: S3Settings, bucket: str = "dray") -> CloudObjects:
    return open_s3(StorageUrl("s3", bucket, f"test/{next(_numbers)}"), settings, SystemClock())


class TestS3(ObjectContract):
    lists_by_folder = True

    @pytest.fixture
    async def store(self, seaweed: SeaweedFS) -> AsyncIterator[ObjectStore]:
        store = open_at(seaweed.settings())
        yield store
        await store.close()


@pytest.mark.parametrize("wrong", [{"access_key": "unknown"}, {"secret_key": "guessed"}])
async def test_wrong_credentials_are_reported(seaweed: SeaweedFS, wrong: dict[str, str]) -> None:
    store = open_at(replace(seaweed.settings(), **wrong))  # type: ignore[arg-type]  # both are strings
    for message in await refusals(store):
        assert "s3://dray/test" in message
        assert seaweed.endpoint in message
        assert "check the access key" in message
        assert "guessed" not in message


async def test_missing_bucket_is_reported(seaweed: SeaweedFS) -> None:
    store = open_at(seaweed.settings("writer"), bucket="nothing-created-this")
    put, *others = await refusals(store)
    assert "check the access key, its permissions, the bucket name" in put
    for message in (put, *others):
        assert "s3://nothing-created-this/test" in message
        assert seaweed.endpoint in message
    for message in others:
        assert "create the bucket" in message


async def test_read_only_user_is_reported(seaweed: SeaweedFS) -> None:
    store = open_at(seaweed.settings("reader"))
    with pytest.raises(
        StoreUnusable, match=r"put of a in s3://dray/.* HTTP 403 AccessDenied .*check the access key"
    ):
        await store.put_new("a", [b"1"])
    with pytest.raises(NotFound):
        await store.get("a")
    await store.close()


ONE_CALL_AND_OUT = """
import asyncio, sys
from dray.objects.cloud import S3Settings, open_s3
from dray.objects.url import parse_storage_url
from dray.runtime import SystemClock

async def main():
    settings = S3Settings(endpoint=sys.argv[1], access_key="admin", secret_key=sys.argv[2], allow_http=True)
    store = open_s3(parse_storage_url("s3://dray/exit"), settings, SystemClock())
    await asyncio.gather(*(store.put_new(f"{sys.argv[3]}/{n}", [bytes(100_000)]) for n in range(8)))
    await asyncio.gather(*(store.get(f"{sys.argv[3]}/{n}") for n in range(8)))
    await store.close()

asyncio.run(main())
"""


async def test_process_exits_cleanly_after_close(seaweed: SeaweedFS) -> None:
    async def run(number: int) -> int:
        arguments = [seaweed.endpoint, SECRET, str(number)]
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", ONE_CALL_AND_OUT, *arguments)
        return await process.wait()

    assert await asyncio.gather(*(run(number) for number in range(4))) == [0] * 4
