"""Limits of etcd: operations and bytes of a commit, space, and pages of a scan."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dray.meta.etcd import EtcdMetaSettings
from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import COMPACT
from dray.meta.port import (
    ABSENT,
    Check,
    CommitLimits,
    CommitTooLarge,
    MetaStore,
    Put,
    StoreUnusable,
    Versions,
    Write,
)
from dray.meta.rules import commit_bytes
from dray.testing.contracts.meta_harness import D, put
from tests.meta.etcd_cluster import EtcdCluster
from tests.meta.etcd_harness import QUICK_ELECTIONS, EtcdHarness, opened

pytestmark = pytest.mark.real("etcd")

MIB = 1024 * 1024


class Between:
    """Runs an action once, after the first request that is answered."""

    def __init__(self, repeat: Callable[..., Awaitable[Any]]) -> None:
        self._repeat = repeat
        self.action: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, *arguments: Any, **options: Any) -> Any:
        answer = await self._repeat(*arguments, **options)
        action, self.action = self.action, None
        if action is not None:
            await action()
        return answer


def largest(limits: CommitLimits) -> tuple[list[Check], list[Write]]:
    """Return a commit that has as many checks, writes and bytes as the limits allow."""
    keys = [f"/k/{n:0100}" for n in range(limits.writes_max)]
    checks = [Check(key, ABSENT) for key in keys[: limits.checks_max]]
    writes: list[Write] = [Put(key, b"") for key in keys]
    writes[0] = Put(keys[0], bytes(limits.bytes_max - commit_bytes(checks, writes)))
    return checks, writes


async def test_largest_commit_is_accepted_and_a_larger_one_refused_before_it_is_sent(
    etcd: EtcdCluster,
) -> None:
    async with opened(etcd.addresses) as store:
        limits = store.limits
        assert limits.checks_max == limits.writes_max == 127
        assert limits.bytes_max > MIB
        checks, writes = largest(limits)
        assert isinstance(await store.commit(D, checks, writes), Versions)
        more = [*writes, Put("/k/more", b"")]
        for too_large in (more, [Put("/b", bytes(limits.bytes_max))]):
            with pytest.raises(CommitTooLarge, match="127 checks, 127 writes and"):
                await store.commit(D, [], too_large)


@pytest.mark.parametrize(("allowed", "expected"), [(600, 511), (1_000_000, 2047), (100, 63)])
@pytest.mark.slow
async def test_operations_that_etcd_allows_are_found(tmp_path: Path, allowed: int, expected: int) -> None:
    options = (*QUICK_ELECTIONS, f"--max-txn-ops={allowed}")
    with EtcdCluster(tmp_path, options=options) as cluster:
        async with opened(cluster.addresses) as store:
            assert (store.limits.checks_max, store.limits.writes_max) == (expected, expected)
            checks, writes = largest(store.limits)
            assert isinstance(await store.commit(D, checks, writes), Versions)


@pytest.mark.slow
async def test_too_few_operations_are_refused(tmp_path: Path) -> None:
    with EtcdCluster(tmp_path, options=(*QUICK_ELECTIONS, "--max-txn-ops=8")) as cluster:
        harness = EtcdHarness(cluster.addresses)
        with pytest.raises(StoreUnusable, match="raise --max-txn-ops to 128"):
            await harness.open()


@pytest.mark.slow
async def test_request_larger_than_etcd_allows_names_the_setting(tmp_path: Path) -> None:
    with EtcdCluster(tmp_path, options=(*QUICK_ELECTIONS, f"--max-request-bytes={MIB}")) as cluster:
        async with opened(cluster.addresses) as store:
            with pytest.raises(
                CommitTooLarge, match=r"metadata\.etcd_request_bytes_max.*--max-request-bytes"
            ):
                await store.commit(D, [], [Put("/a", bytes(MIB + 1000))])
            await put(store, "/a", b"small")
        settings = EtcdMetaSettings(request_bytes_max=8 * MIB, history_ms=0)
        async with opened(cluster.addresses, settings) as store:
            with pytest.raises(CommitTooLarge, match=r"metadata\.etcd_request_bytes_max"):
                await store.commit(D, [], [Put("/a", bytes(4 * MIB))])
            await put(store, "/a", b"small")


@pytest.mark.slow
async def test_full_etcd_is_reported_with_a_remedy(tmp_path: Path) -> None:
    options = (*QUICK_ELECTIONS, f"--quota-backend-bytes={4 * MIB}")
    with EtcdCluster(tmp_path, options=options) as cluster:
        async with opened(cluster.addresses) as store:
            with pytest.raises(StoreUnusable, match=r"etcdctl defrag .*etcdctl alarm disarm"):
                await _fill(store)
            assert await store.get(D, "/0") is not None


async def _fill(store: MetaStore) -> None:
    for n in range(20):
        await put(store, f"/{n}", bytes(MIB))


async def test_scan_of_many_pages_is_a_snapshot(etcd: EtcdCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write between two pages is not seen, and a compaction between them restarts the scan."""
    settings = EtcdMetaSettings(page_keys=3, history_ms=0)
    async with opened(etcd.addresses, settings) as store:
        await store.commit(D, [], [Put(f"/a/{n}", b"0") for n in range(9)])
        between = Between(store._endpoints.repeat)
        monkeypatch.setattr(store._endpoints, "repeat", between)

        async def write() -> None:
            await store.commit(D, [], [Put("/a/1", b"1"), Put("/a/8", b"1")])

        async def write_and_compact() -> None:
            await write()
            revision = await store._reads.revision()
            await store._endpoints.call(COMPACT, api.CompactionRequest(revision=revision))

        between.action = write
        assert [entry.value for entry in await store.scan(D, "/a/", "/a/~")] == [b"0"] * 9
        between.action = write_and_compact
        values = [entry.value for entry in await store.scan(D, "/a/", "/a/~")]
        assert values == [b"1" if n in {1, 8} else b"0" for n in range(9)]
