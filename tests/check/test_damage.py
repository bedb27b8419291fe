"""Damage of every kind in real stores: found, explained, and repaired where that is possible."""

import os

import pytest

from dray.check.findings import Severity
from dray.check.other_findings import OffsetsWithoutTopic
from dray.ids import MetaDomain, WalId
from dray.index import wal_path
from dray.index.batches import pack_row
from tests.check import damages
from tests.check.damages import DAMAGES, Damage
from tests.check.stores import Stores, kinds


async def test_intact_cluster_has_no_findings(stores: Stores) -> None:
    assert await stores.check(deep=True) == []
    assert await stores.repair() == []


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
async def test_damage_is_found_and_repaired_where_possible(stores: Stores, damage: Damage) -> None:
    await damage(stores)
    expected, before = DAMAGES[damage], await stores.everything()
    found = await stores.check()
    assert kinds(found) == expected.found
    assert all(one.what and one.remedy for one in found)
    assert await stores.everything() == before
    outcomes = [outcome for outcome in await stores.repair() if outcome is not None]
    assert all(outcome.done for outcome in outcomes), outcomes
    assert bool(outcomes) == (expected.left != expected.found)
    if expected.left == expected.found:
        assert await stores.everything() == before
        assert kinds(await stores.check()) == expected.left
    else:
        assert await stores.check(deep=True) == []


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
async def test_small_windows_find_the_same(stores: Stores, damage: Damage) -> None:
    await damage(stores)
    at_once = await stores.check()
    one_by_one = await stores.check(objects_at_once=1)
    assert sorted(map(repr, one_by_one)) == sorted(map(repr, at_once))


async def test_lost_object_is_found_again_once_it_is_restored(stores: Stores) -> None:
    entry = (await stores.wal_entries())[1]
    path = stores.path(entry.path)
    content = path.read_bytes()
    path.unlink()
    [found] = await stores.check("hot")
    assert found.severity is Severity.LOST
    assert found.offsets == (entry.start_offset, entry.end_offset - 1)
    assert found.what == f"the WAL object {entry.path} does not exist"
    assert found.remedy == (
        f"restore {entry.path}, for example from a version of the bucket, or accept the loss: "
        f"`kafka-delete-records.sh` up to offset {entry.end_offset}"
    )
    path.write_bytes(content)
    assert await stores.check() == []


async def test_only_the_named_topics_are_checked(stores: Stores) -> None:
    await damages.wal_object_lost(stores)
    await damages.file_record_lost(stores)
    await damages.head_of_empty_stream_lost(stores)
    assert kinds(await stores.check("hot")) == {"MissingObject"}
    assert kinds(await stores.check("cold")) == {"Unprotected"}
    assert kinds(await stores.check("empty")) == {"MissingHead"}
    assert kinds(await stores.check("hot", "empty")) == {"MissingObject", "MissingHead"}


async def test_offsets_are_found_in_groups_of_any_name(stores: Stores) -> None:
    await damages.offsets_of_no_topic(stores)
    found = [one for one in await stores.check() if isinstance(one, OffsetsWithoutTopic)]
    assert sorted((one.group, one.topic, one.partitions) for one in found) == [
        ("-g", "gone", (0,)),
        ("g", "gone", (0, 1)),
        ("g", "hot", (0,)),
    ]


async def test_young_object_without_a_key_is_not_a_stray(stores: Stores) -> None:
    stores.put_object(wal_path("z", MetaDomain(1), "2026/01/01", WalId(bytes(16))), old=False)
    assert await stores.check() == []


async def test_flipped_bit_of_a_batch_is_only_found_in_the_bytes(stores: Stores) -> None:
    entry = (await stores.wal_entries())[1]
    _flip(stores, entry.path, entry.chunk_offset + entry.rows[0].position + 70)
    assert await stores.check() == []
    [found] = await stores.check(deep=True)
    assert kinds([found]) == {"DamagedObject"}
    assert found.severity is Severity.LOST
    assert "footer CRC mismatch" in found.what


async def test_entry_that_leads_to_other_bytes_is_found_in_the_bytes(stores: Stores) -> None:
    entry = (await stores.wal_entries())[1]
    await stores.put_entry(entry, chunk_offset=entry.chunk_offset - 4)
    assert await stores.check() == []
    [found] = await stores.check(deep=True)
    assert f"offset {entry.start_offset}, is damaged" in found.what


async def test_entry_that_leads_to_another_intact_batch_is_found_in_the_bytes(stores: Stores) -> None:
    entry = (await stores.wal_entries())[1]
    [row] = entry.rows
    await stores.put_entry(entry, packed_rows=pack_row(row._replace(base_sequence=row.base_sequence + 1)))
    assert await stores.check() == []
    [found] = await stores.check(deep=True)
    assert f"offset {entry.start_offset}, is damaged or another one" in found.what


async def test_flipped_bit_of_a_footer_is_found_in_the_bytes(stores: Stores) -> None:
    file = await stores.file()
    _flip(stores, file.path, file.size_bytes - file.footer_bytes + 3)
    assert await stores.check() == []
    [found] = await stores.check(deep=True)
    assert found.offsets == (file.start_offset, file.end_offset - 1)
    assert f"its footer should have CRC {file.footer_crc:08x}" in found.what


def _flip(stores: Stores, name: str, at: int) -> None:
    path = stores.path(name)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    times = path.stat()
    path.chmod(0o644)
    path.write_bytes(content)
    os.utime(path, (times.st_atime, times.st_mtime))
