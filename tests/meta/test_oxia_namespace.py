"""Opening of a namespace of Oxia: one of another application or of a newer Dray is refused in one line."""

import asyncio

import pytest

from dray.ids import Domain
from dray.meta.oxia import OxiaMetaStore, api_pb2
from dray.meta.oxia.client import OxiaClient
from dray.meta.oxia.namespace import MARKER
from dray.meta.port import Put, StoreUnusable, Versions
from dray.runtime import SystemClock
from dray.testing.oxia_server import OxiaServerSettings
from tests.meta.oxia_harness import TTL_MS, OxiaHarness, client_settings, served

SORTINGS = pytest.mark.parametrize("sorting", ["hierarchical", "natural"])
DOMAIN = Domain("d")


def settings(sorting: str) -> OxiaServerSettings:
    return OxiaServerSettings(sorting=sorting, shards=2, session_ttl_min_ms=TTL_MS)  # type: ignore[arg-type]


async def client_of(harness: OxiaHarness) -> OxiaClient:
    client = OxiaClient(client_settings(tuple(harness.server.addresses)), SystemClock())
    client.start(harness.tasks)
    return client


async def put(harness: OxiaHarness, key: str, value: bytes) -> None:
    """Write a key without our store."""
    client = await client_of(harness)
    request = api_pb2.WriteRequest(puts=[api_pb2.PutRequest(key=key, value=value, partition_key=key)])
    await client.write(await client.shard_of(key), request)
    await client.close()


async def marker(harness: OxiaHarness) -> bytes | None:
    client = await client_of(harness)
    (found,) = await client.read(await client.shard_of(MARKER), [MARKER])
    await client.close()
    return found.value


async def written(store: OxiaMetaStore, key: str) -> None:
    assert isinstance(await store.commit(DOMAIN, [], [Put(key, b"v")]), Versions)


@SORTINGS
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("accounts", b"1"),
        ("hello", b"world"),
        ("xyz", b""),
        ("keys", b""),
        ("zebra", b"1"),
        ("/app/users/1", b"{}"),
        ("users/1/2/3/4", b"{}"),
    ],
)
async def test_namespace_of_another_application_is_refused_and_left_unchanged(
    sorting: str, key: str, value: bytes
) -> None:
    async with served(settings(sorting)) as harness:
        await put(harness, key, value)
        with pytest.raises(StoreUnusable, match=r"keys of another application .*choose another") as refused:
            await harness.open()
        assert len(str(refused.value).splitlines()) == 1
        assert repr(key) in str(refused.value)
        assert await marker(harness) is None


@SORTINGS
async def test_newer_format_is_refused(sorting: str) -> None:
    async with served(settings(sorting)) as harness:
        await put(harness, MARKER, b"2")
        with pytest.raises(StoreUnusable, match=r"have format 2, .* reads 1 only: use the Dray") as refused:
            await harness.open()
        assert len(str(refused.value).splitlines()) == 1


@SORTINGS
async def test_namespace_that_a_build_without_marker_has_used_is_taken_over(sorting: str) -> None:
    async with served(settings(sorting)) as harness:
        store = await harness.open()
        for key in ("/a", "/a/b", "/a/b/c"):
            await written(store, key)
        session = await store.session(TTL_MS)
        await store.commit(DOMAIN, [], [Put("/e", b"v", session.id)])
        client = await client_of(harness)
        shard = await client.shard_of(MARKER)
        await client.write(shard, api_pb2.WriteRequest(deletes=[api_pb2.DeleteRequest(key=MARKER)]))
        await client.close()
        again = await harness.open()
        assert await marker(harness) == b"1"
        assert (await again.get(DOMAIN, "/a/b")) is not None


async def test_empty_namespace_may_be_opened_by_several_processes_at_once() -> None:
    async with served(settings("natural")) as harness:
        stores = await asyncio.gather(*(harness.open() for _ in range(5)))
        for number, store in enumerate(stores):
            await written(store, f"/{number}")
        assert await marker(harness) == b"1"
