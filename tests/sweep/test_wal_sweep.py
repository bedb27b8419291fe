"""Garbage collection of WAL objects: unreferenced, orphaned and stray ones are deleted, live ones never."""

import asyncio

import pytest

from dray.ids import MetaDomain, WalId
from dray.index import StagingMarker, encode_object, wal_path
from dray.keyspace import staging_key
from dray.log import NotStored
from dray.meta.port import Put
from dray.objects.port import Unavailable
from dray.sweep import WalSweep
from tests.log.builders import DOMAIN, ONE, STORE_DOMAIN, TWO, Rig, outcomes, simulated
from tests.sweep.builders import GRACE_MS, TTL_MS, counts, sweep_all, sweep_of, swept

_TTL_S = TTL_MS / 1000


@simulated
async def test_unreferenced_object_is_deleted_after_its_grace_period(rig: Rig) -> None:
    opened = await rig.open(wal_gc_grace_ms=GRACE_MS)
    await opened.append("x")
    await opened.append("y")
    await opened.log.trim(ONE, 1)
    assert await swept(rig, opened) == (0, 0, 0)
    await rig.settle(GRACE_MS / 1000 - 0.001)
    assert await swept(rig, opened) == (0, 0, 0)
    assert len(rig.paths()) == 2
    await rig.settle(0.001)
    assert await swept(rig, opened) == (1, 0, 0)
    assert rig.paths() == [record.path for record in await rig.committed()]
    assert await rig.pending_deletion() == []
    assert await opened.tags(offset=1) == [(1, 1, "y")]


@simulated
async def test_referenced_objects_are_kept_whatever_their_age(rig: Rig) -> None:
    opened = await rig.open(tail_cache_bytes_max=0)
    for tag in "abc":
        await outcomes(await opened.send(tag, ONE), await opened.send(tag, TWO))
    await opened.log.trim(ONE, 2)
    await opened.log.close()
    await rig.settle(100 * _TTL_S)
    assert await swept(rig, opened) == (0, 0, 0)
    assert len(rig.paths()) == 3
    assert [tag for *_, tag in await opened.tags(TWO)] == ["a", "b", "c"]


@simulated
async def test_orphan_is_deleted_after_the_orphan_ttl(rig: Rig) -> None:
    opened = await rig.open(staging_markers_ahead=1)
    await opened.append("committed")
    await rig.settle(_TTL_S)
    reserved = opened.log._domains[0].writer._uploader.reservations
    reservation = await reserved.take()
    rig.bucket.put_new(reservation.path, [b"never committed"])
    await rig.settle(_TTL_S - 0.001)
    assert await swept(rig, opened) == (0, 0, 0)
    await rig.settle(0.001)
    assert await swept(rig, opened) == (0, 1, 0)
    assert reservation.path not in rig.paths()
    assert await rig.staged() == []
    assert await opened.tags() == [(0, 1, "committed")]


@simulated
async def test_orphan_is_condemned_before_it_is_deleted(rig: Rig) -> None:
    opened, sweeper = await rig.open(staging_markers_ahead=1), await rig.open("sweeper")
    opened.objects.hold_puts()
    promise = await opened.send("slow")
    await rig.settle(_TTL_S)
    sweeper.objects.delete_fault = Unavailable("away")
    done = await sweep_all(sweep_of(rig, sweeper))
    assert (counts(done), done.failed) == ((0, 0, 0), 1)
    assert [marker.condemned for marker in await rig.staged()] == [True]
    opened.objects.let_all()
    with pytest.raises(NotStored):
        await promise
    sweeper.objects.delete_fault = None
    assert await swept(rig, sweeper) == (0, 1, 0)
    assert rig.paths() == []
    assert (await rig.head()).high_watermark == 0


@simulated
async def test_commit_between_scan_and_condemning_keeps_its_object(rig: Rig) -> None:
    """The sweep has read the marker; before it condemns it, the object is committed."""
    opened, sweeper = await rig.open(staging_markers_ahead=1), await rig.open("sweeper")
    opened.objects.hold_puts()
    promise = await opened.send("slow")
    await rig.settle(_TTL_S)
    scanned = sweeper.link.hold("scan")
    sweeping = asyncio.create_task(sweep_of(rig, sweeper).run())
    await rig.settle(0.1)
    opened.objects.let_all()
    assert await outcomes(promise) == ["0"]
    scanned.set()
    assert counts(await sweeping) == (0, 0, 0)
    assert len(rig.paths()) == 1
    assert await opened.tags() == [(0, 1, "slow")]


@simulated
async def test_put_that_lands_after_the_sweep_is_deleted_as_a_stray(rig: Rig) -> None:
    opened, sweeper = await rig.open(staging_markers_ahead=1), await rig.open("sweeper")
    opened.objects.hold_puts()
    promise = await opened.send("zombie")
    await rig.settle(_TTL_S)
    assert await swept(rig, sweeper) == (0, 1, 0)
    opened.objects.let_all()
    assert await outcomes(promise) == ["NotStored"]
    assert len(rig.paths()) == 1
    await rig.settle(_TTL_S - 0.2)
    assert await swept(rig, sweeper) == (0, 0, 0)
    await rig.settle(0.3)
    assert await swept(rig, sweeper) == (0, 0, 1)
    assert rig.paths() == []


@simulated
async def test_objects_of_other_domains_and_foreign_objects_are_not_strays(rig: Rig) -> None:
    opened = await rig.open()
    foreign = wal_path("z9", MetaDomain(3), "2020/01/01", WalId(bytes(16)))
    others = [foreign, "wal/v1/readme.txt", "data/table.parquet"]
    for path in others:
        rig.bucket.put_new(path, [b"x"])
    await rig.settle(2 * _TTL_S)
    assert await swept(rig, opened) == (0, 0, 0)
    assert sorted(rig.paths()) == sorted(others)
    done = await sweep_all(WalSweep(rig.meta, opened.objects, MetaDomain(3), rig.clock, TTL_MS))
    assert counts(done) == (0, 0, 1)
    assert sorted(rig.paths()) == sorted(others[1:])


@simulated
async def test_old_object_named_by_any_record_is_not_a_stray(rig: Rig) -> None:
    """Clocks differ: an object old in the bucket can be young by its marker, or in its grace period."""
    opened = await rig.open(wal_gc_grace_ms=100 * TTL_MS, staging_markers_ahead=1)
    await opened.append("trimmed")
    await opened.log.trim(ONE, 1)
    young = WalId(bytes(16))
    path = wal_path("z1", DOMAIN, "2023/11/14", young)
    rig.bucket.put_new(path, [b"x"])
    await rig.settle(2 * _TTL_S)
    marker = StagingMarker(path, rig.clock.now_ms())
    await rig.meta.commit(STORE_DOMAIN, [], [Put(staging_key(DOMAIN, young), encode_object(marker))])
    assert await swept(rig, opened) == (0, 0, 0)
    assert len(rig.paths()) == 2


@simulated
async def test_concurrent_sweeps_delete_only_unreferenced_objects(rig: Rig) -> None:
    opened, other = await rig.open(wal_gc_grace_ms=0, staging_markers_ahead=2), await rig.open("b")
    for tag in "abcd":
        await opened.append(tag)
    await opened.log.trim(ONE, 2)
    reserved = opened.log._domains[0].writer._uploader.reservations
    reservation = await reserved.take()
    rig.bucket.put_new(reservation.path, [b"orphan"])
    await rig.settle(2 * _TTL_S)
    done = await asyncio.gather(*(sweep_all(sweep_of(rig, log)) for log in (opened, other, opened)))
    assert sum(one.collected for one in done) >= 2
    assert sorted(rig.paths()) == sorted(record.path for record in await rig.committed())
    assert await rig.staged() == []
    assert await rig.pending_deletion() == []
    assert await swept(rig, opened) == (0, 0, 0)
    assert [tag for *_, tag in await opened.tags(offset=2)] == ["c", "d"]


@simulated
async def test_corrupt_marker_does_not_block_the_sweep_of_others(rig: Rig) -> None:
    opened = await rig.open(staging_markers_ahead=1)
    wal = WalId(bytes(16))
    await rig.meta.commit(STORE_DOMAIN, [], [Put(staging_key(DOMAIN, wal), b"\xc1 garbage")])
    reservation = await opened.log._domains[0].writer._uploader.reservations.take()
    rig.bucket.put_new(reservation.path, [b"never committed"])
    await rig.settle(_TTL_S)
    done = await sweep_all(sweep_of(rig, opened))
    assert (done.orphans, done.failed) == (1, 1)
    assert rig.paths() == []
