"""Objects that nothing points to go, each kind in its time; what is alive never does."""

import asyncio

import pytest

from dray.ids import MetaDomain, WalId
from dray.index import StagingMarker, encode_object, staging_key, wal_path
from dray.log import NotStored
from dray.meta.port import Put
from dray.objects.port import Unavailable
from dray.sweep import WalSweep
from tests.log.builders import DOMAIN, ONE, STORE_DOMAIN, TWO, Rig, outcomes, simulated
from tests.sweep.builders import GRACE_MS, TTL_MS, everything, sweep_of, swept, told

_TTL_S = TTL_MS / 1000


@simulated
async def test_what_was_given_up_goes_after_its_grace_and_not_before(rig: Rig) -> None:
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
    assert await rig.doomed() == []
    assert await opened.tags(offset=1) == [(1, 1, "y")]


@simulated
async def test_live_objects_are_never_touched_however_old(rig: Rig) -> None:
    opened = await rig.open(recent_bytes_max=0)
    for tag in "abc":
        await outcomes(await opened.send(tag, ONE), await opened.send(tag, TWO))
    await opened.log.trim(ONE, 2)
    await opened.log.close()
    await rig.settle(100 * _TTL_S)
    assert await swept(rig, opened) == (0, 0, 0)
    assert len(rig.paths()) == 3
    assert [tag for *_, tag in await opened.tags(TWO)] == ["a", "b", "c"]


@simulated
async def test_an_orphan_goes_after_its_time_and_not_before(rig: Rig) -> None:
    opened = await rig.open(reservations=1)
    await opened.append("committed")
    await rig.settle(_TTL_S)
    reserved = opened.log._domains[0].writer._parts.reservations
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
async def test_an_orphan_is_condemned_before_it_is_deleted(rig: Rig) -> None:
    opened, sweeper = await rig.open(reservations=1), await rig.open("sweeper")
    opened.objects.hold_puts()
    promise = await opened.send("slow")
    await rig.settle(_TTL_S)
    sweeper.objects.delete_fault = Unavailable("away")
    done = await everything(sweep_of(rig, sweeper))
    assert (told(done), done.failed) == ((0, 0, 0), 1)
    assert [marker.condemned for marker in await rig.staged()] == [True]
    opened.objects.let_all()
    with pytest.raises(NotStored):
        await promise
    sweeper.objects.delete_fault = None
    assert await swept(rig, sweeper) == (0, 1, 0)
    assert rig.paths() == []
    assert (await rig.head()).high_watermark == 0


@simulated
async def test_a_commit_that_comes_first_saves_its_object(rig: Rig) -> None:
    """The sweep has read the marker; before it condemns it, the object is committed."""
    opened, sweeper = await rig.open(reservations=1), await rig.open("sweeper")
    opened.objects.hold_puts()
    promise = await opened.send("slow")
    await rig.settle(_TTL_S)
    scanned = sweeper.link.hold("scan")
    sweeping = asyncio.create_task(sweep_of(rig, sweeper).run())
    await rig.settle(0.1)
    opened.objects.let_all()
    assert await outcomes(promise) == ["0"]
    scanned.set()
    assert told(await sweeping) == (0, 0, 0)
    assert len(rig.paths()) == 1
    assert await opened.tags() == [(0, 1, "slow")]


@simulated
async def test_a_put_that_lands_after_the_sweep_is_a_stray_in_its_time(rig: Rig) -> None:
    opened, sweeper = await rig.open(reservations=1), await rig.open("sweeper")
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
async def test_objects_of_others_are_not_strays(rig: Rig) -> None:
    opened = await rig.open()
    foreign = wal_path("z9", MetaDomain(3), "2020/01/01", WalId(bytes(16)))
    others = [foreign, "wal/v1/readme.txt", "data/table.parquet"]
    for path in others:
        rig.bucket.put_new(path, [b"x"])
    await rig.settle(2 * _TTL_S)
    assert await swept(rig, opened) == (0, 0, 0)
    assert sorted(rig.paths()) == sorted(others)
    done = await everything(WalSweep(rig.meta, opened.objects, MetaDomain(3), rig.clock, TTL_MS))
    assert told(done) == (0, 0, 1)
    assert sorted(rig.paths()) == sorted(others[1:])


@simulated
async def test_an_old_object_in_any_record_is_no_stray(rig: Rig) -> None:
    """Clocks differ: what the bucket calls old may be young by its marker, and a grace may be long."""
    opened = await rig.open(wal_gc_grace_ms=100 * TTL_MS, reservations=1)
    await opened.append("given up")
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
async def test_two_sweepers_at_once_do_no_harm(rig: Rig) -> None:
    opened, other = await rig.open(wal_gc_grace_ms=0, reservations=2), await rig.open("b")
    for tag in "abcd":
        await opened.append(tag)
    await opened.log.trim(ONE, 2)
    reserved = opened.log._domains[0].writer._parts.reservations
    reservation = await reserved.take()
    rig.bucket.put_new(reservation.path, [b"orphan"])
    await rig.settle(2 * _TTL_S)
    done = await asyncio.gather(*(everything(sweep_of(rig, log)) for log in (opened, other, opened)))
    assert sum(one.collected for one in done) >= 2
    assert sorted(rig.paths()) == sorted(record.path for record in await rig.committed())
    assert await rig.staged() == []
    assert await rig.doomed() == []
    assert await swept(rig, opened) == (0, 0, 0)
    assert [tag for *_, tag in await opened.tags(offset=2)] == ["c", "d"]


@simulated
async def test_one_bad_marker_does_not_keep_the_others_from_being_swept(rig: Rig) -> None:
    opened = await rig.open(reservations=1)
    wal = WalId(bytes(16))
    await rig.meta.commit(STORE_DOMAIN, [], [Put(staging_key(DOMAIN, wal), b"\xc1 garbage")])
    reservation = await opened.log._domains[0].writer._parts.reservations.take()
    rig.bucket.put_new(reservation.path, [b"never committed"])
    await rig.settle(_TTL_S)
    done = await everything(sweep_of(rig, opened))
    assert (done.orphans, done.failed) == (1, 1)
    assert rig.paths() == []
