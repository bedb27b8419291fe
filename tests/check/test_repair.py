"""Repairs: they may be interrupted anywhere, lose nothing, and change only what was found."""

from collections.abc import Awaitable, Callable

import msgspec
import pytest

from dray.check.deps import CheckDeps
from dray.check.findings import Finding, Severity
from dray.check.object_findings import Unprotected, Unreferenced
from dray.check.repairer import Repairer
from dray.check.run import ClusterCheck
from dray.check.stream_findings import MissingHead
from dray.ids import StreamId, WalId
from dray.index import (
    GcMarker,
    WalEntry,
    WalObject,
    decode_object,
    encode_entry,
    encode_head,
    encode_object,
    wal_path,
)
from dray.keyspace import head_key, wal_gc_key, wal_object_key
from dray.log import LogSettings
from dray.meta.port import Delete, MetaStore, Put, Write
from dray.objects.memory import MemoryObjects
from dray.sweep import WalSweep
from dray.testing.entropy import SeededEntropy
from dray.testing.nodes import Node, NodeCrashed
from tests.check import damages
from tests.check.stores import Stores, key_of, kinds
from tests.compaction.crashes import CrashAtStep, crash_at_every_step
from tests.compaction.passes import CompactorRig, compactor_rig, slow_meta
from tests.log.builders import DOMAIN, STORE_DOMAIN, Rig
from tests.log.compacting import records

_SETTINGS = LogSettings(wal_gc_grace_ms=0, orphan_ttl_ms=60_000)


def _deps(made: CompactorRig, meta: MetaStore) -> CheckDeps:
    objects = MemoryObjects(made.rig.bucket)
    return CheckDeps(meta, objects, 1, made.rig.clock, _SETTINGS, deep=True, pause_s=0.0)


async def _repair(made: CompactorRig, meta: MetaStore) -> None:
    deps = _deps(made, meta)
    repairer = Repairer(deps)
    async for finding in ClusterCheck(deps).run():
        await repairer.repair(finding)


async def _left(made: CompactorRig) -> list[Finding]:
    found = [one async for one in ClusterCheck(_deps(made, made.rig.meta)).run()]
    return [one for one in found if one.severity is not Severity.NOTE]  # the rig's streams without topics


async def _damaged() -> CompactorRig:
    """Damage records and heads of a few objects, and leave some garbage."""
    made = await compactor_rig(Rig(), "t")
    await made.run_pass()
    await made.write("t", count=5)
    stored = [one for one in await made.rig.entries(made.stream("t")) if isinstance(one, WalEntry)]
    lost, marked, counted, *_ = stored
    head = msgspec.structs.replace(await made.rig.head(made.stream("t")), cumulative_size=1)
    stray, overdue = WalId(b"o" * 16), WalId(b"p" * 16)
    paths = {wal_id: wal_path("z", DOMAIN, "2026/01/01", wal_id) for wal_id in (stray, overdue)}
    writes: list[Write] = [
        Delete(wal_object_key(DOMAIN, lost.wal_id)),
        Put(wal_gc_key(DOMAIN, lost.wal_id), encode_object(GcMarker(lost.path, 1 << 50))),
        Put(wal_gc_key(DOMAIN, marked.wal_id), encode_object(GcMarker(marked.path, 1 << 50))),
        Put(
            wal_object_key(DOMAIN, counted.wal_id),
            encode_object(WalObject(counted.path, 9, 0, counted.wal_bytes)),
        ),
        Put(head_key(made.stream("t")), encode_head(head)),
        Put(wal_gc_key(DOMAIN, overdue), encode_object(GcMarker(paths[overdue], 0))),
    ]
    await made.rig.meta.commit(STORE_DOMAIN, [], writes)
    for path in paths.values():
        made.rig.bucket.put_new(path, [b"left behind"])
    await made.rig.clock.sleep(3 * _SETTINGS.orphan_ttl_ms / 1000)
    return made


def test_repair_completes_after_a_crash_at_any_step() -> None:
    crash_at_every_step(_crash_once, 400)


async def _crash_once(crash: CrashAtStep) -> bool:
    made = await _damaged()
    before = await records(await made.rig.open("before"), made.stream("t"))
    assert kinds(await _left(made)) == {
        "ExcessReferences",
        "HeadMismatch",
        "Stray",
        "OverdueDeletion",
        "Unprotected",
    }
    crash.node = Node("repair")
    finished = True
    try:
        await crash.node.run(_repair(made, slow_meta(made.rig, SeededEntropy("repair"))))
    except NodeCrashed:
        finished = False
    await made.rig.settle()
    left = await _left(made)
    assert (left == []) or not finished
    await _repair(made, made.rig.meta)
    assert await _left(made) == []
    await WalSweep(made.rig.meta, MemoryObjects(made.rig.bucket), DOMAIN, made.rig.clock, 1).run()
    opened = await made.rig.open("after")
    assert await records(opened, made.stream("t")) == before
    await opened.append("more", made.stream("t"))
    assert await _left(made) == []
    return finished


async def _before_repair(
    stores: Stores, damage: Callable[[Stores], Awaitable[None]], change: Callable[[], Awaitable[None]]
) -> list[bool]:
    """Find damage, change the stores, and only then repair; returns which repairs were made."""
    await damage(stores)
    found = await stores.check()
    await change()
    before = await stores.everything()
    outcomes = [await Repairer(stores.deps()).repair(one) for one in found]
    done = [outcome.done for outcome in outcomes if outcome is not None]
    assert any(done) or await stores.everything() == before
    return done


async def test_finding_that_has_changed_is_not_repaired(stores: Stores) -> None:
    async def change() -> None:
        await damages.too_many_references(stores)

    assert await _before_repair(stores, damages.too_few_references, change) == [False]


async def test_object_that_was_committed_meanwhile_is_not_marked(stores: Stores) -> None:
    async def change() -> None:
        await damages.record_without_entry(stores)  # its record changes, as a commit would change it

    assert await _before_repair(stores, damages.record_without_entry, change) == [False]


async def test_object_without_entries_is_kept_while_the_index_has_gaps(stores: Stores) -> None:
    entry = (await stores.wal_entries())[1]
    await stores.delete_entry(entry)
    assert [outcome for outcome in await stores.repair() if outcome is not None] == []
    [unreferenced] = [one for one in await stores.check() if isinstance(one, Unreferenced)]
    assert unreferenced.path == entry.path
    assert "may hold the records" in unreferenced.remedy
    await stores.put_entry(entry)
    assert await stores.check() == []


@pytest.mark.parametrize("damage", [damages.entries_overlap, damages.head_starts_after_its_end])
async def test_object_without_entries_is_kept_while_a_chain_is_contradictory(
    stores: Stores, damage: damages.Damage
) -> None:
    domain = stores.number(await stores.stream("hot"))
    await damage(stores)
    await damages.record_without_entry(stores, domain)
    [unreferenced] = [one for one in await stores.check() if isinstance(one, Unreferenced)]
    assert unreferenced.held
    assert await Repairer(stores.deps()).repair(unreferenced) is None


@pytest.mark.parametrize("lost", [slice(0, 4), slice(0, 2), slice(1, 3), slice(2, 4)])
async def test_objects_of_a_stream_without_a_head_are_kept(stores: Stores, lost: slice) -> None:
    for entry in (await stores.wal_entries())[lost]:
        await stores.delete_entry(entry)
    await damages.head_lost(stores)
    assert kinds(await stores.check()) == {"MissingHead", "Unreferenced"}
    before = await stores.everything()
    assert [outcome for outcome in await stores.repair() if outcome is not None] == []
    assert await stores.everything() == before


async def test_head_is_rebuilt_once_the_lost_entries_are_restored(stores: Stores) -> None:
    last = (await stores.wal_entries())[-1]
    await stores.delete_entry(last)
    await damages.head_lost(stores)
    [found] = [one for one in await stores.check() if isinstance(one, MissingHead)]
    assert found.rebuilt is not None
    assert found.remedy.startswith("restore the metadata from a backup")
    await stores.put_entry(last)
    await stores.repair()
    assert await stores.check() == []


async def _old_object_without_key(stores: Stores) -> None:
    domain = stores.number(await stores.stream("hot"))
    stores.put_object(wal_path("z", domain, "2026/01/01", WalId(bytes(16))), old=True)


@pytest.mark.parametrize(
    "beside", [damages.too_many_references, _old_object_without_key, damages.record_undecodable]
)
async def test_missing_head_is_not_rebuilt_beside_an_object_that_may_have_records_of_the_stream(
    stores: Stores, beside: damages.Damage
) -> None:
    await damages.head_lost(stores)
    await beside(stores)
    [found] = [one for one in await stores.check() if isinstance(one, MissingHead)]
    assert await Repairer(stores.deps()).repair(found) is None


async def test_check_of_some_topics_rebuilds_no_missing_head(stores: Stores) -> None:
    await damages.head_lost(stores)
    [found] = await stores.check("hot")
    assert await Repairer(stores.deps()).repair(found) is None
    assert "check of all topics" in found.remedy


async def test_objects_are_kept_where_a_stream_without_a_topic_has_entries_and_no_head(
    stores: Stores,
) -> None:
    await stores.delete_entry((await stores.wal_entries())[-1])
    await damages.head_lost(stores)
    await damages.topic_lost(stores)
    assert kinds(await stores.check()) == {"LostTopic", "Unreferenced"}
    assert [outcome for outcome in await stores.repair() if outcome is not None] == []


async def test_objects_are_kept_while_a_topic_cannot_be_decoded(stores: Stores) -> None:
    await damages.topic_undecodable(stores)
    await damages.record_without_entry(stores)
    [unreferenced] = [one for one in await stores.check() if isinstance(one, Unreferenced)]
    assert unreferenced.held


async def test_rebuilt_head_continues_where_the_stream_ended(stores: Stores) -> None:
    stream = await stores.stream("hot")
    before = await stores.head(stream)
    await damages.head_lost(stores)
    await stores.repair()
    after = await stores.head(stream)
    assert after.high_watermark == before.high_watermark
    assert after.cumulative_size == before.cumulative_size
    assert after.max_timestamp_ms == before.max_timestamp_ms
    assert after.unsnapshotted == len(await stores.wal_entries())


async def test_protected_object_survives_the_sweep(stores: Stores) -> None:
    entry = (await stores.wal_entries())[1]
    marker = encode_object(GcMarker(entry.path, 0))
    domain, number = stores.domain(entry.stream), stores.number(entry.stream)
    await stores.write(domain, Delete(wal_object_key(number, entry.wal_id)))
    await stores.write(domain, Put(wal_gc_key(number, entry.wal_id), marker))
    await stores.repair()
    cluster = stores.cluster
    await WalSweep(cluster.meta, cluster.objects, number, cluster.clock, 1).run()
    await WalSweep(cluster.meta, cluster.objects, number, cluster.clock, 1).run_strays()
    assert stores.path(entry.path).exists()
    assert await stores.check() == []


def _of_another_stream(entry: WalEntry, stores: Stores) -> WalEntry:
    """Return an entry of another stream of the domain that points to the same object."""
    other = next(
        StreamId(number)
        for number in range(1_000)
        if stores.number(StreamId(number)) == stores.number(entry.stream)
    )
    return msgspec.structs.replace(entry, stream=other)


async def _count(stores: Stores, entry: WalEntry) -> int:
    key = wal_object_key(stores.number(entry.stream), entry.wal_id)
    stored = await stores.cluster.meta.get(stores.domain(entry.stream), key)
    assert stored is not None
    return decode_object(key, stored.value).references


async def test_repair_of_one_topic_counts_the_entries_of_all(stores: Stores) -> None:
    entry = (await stores.wal_entries())[1]
    other = _of_another_stream(entry, stores)
    await stores.write(stores.domain(entry.stream), Put(key_of(other), encode_entry(other)))
    await damages.record_lost(stores)
    [found] = [one for one in await stores.check("hot") if isinstance(one, Unprotected)]
    await Repairer(stores.deps()).repair(found)
    assert await _count(stores, entry) == 2


async def test_object_recorded_while_the_index_has_gaps_is_counted_too_high(stores: Stores) -> None:
    await damages.record_lost(stores)
    entry, later = (await stores.wal_entries())[1:3]
    await stores.write(stores.domain(entry.stream), Put(key_of(later), b"not an entry"))
    [found] = [one for one in await stores.check() if isinstance(one, Unprotected)]
    await Repairer(stores.deps()).repair(found)
    assert await _count(stores, entry) > 1_000
    await stores.put_entry(later)
    await stores.repair()
    assert await _count(stores, entry) == 1
    assert await stores.check() == []
