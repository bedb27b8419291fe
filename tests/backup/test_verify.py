"""Verification of backups: every family has a type, and every wrong value is found."""

from pathlib import Path

import msgspec

from dray.backup.places import FileSource
from dray.backup.value_types import require_decodable
from dray.backup.verify import VerifyReport, verify
from dray.ids import Domain
from dray.keyspace import (
    CLUSTER_DOMAIN,
    KEY_FAMILIES,
    PRODUCER_IDS_KEY,
    KeyFamily,
    differences_key,
    lease_key,
    topic_key,
)
from dray.maintenance.differences import Difference
from scripts.metadata_page import value_kinds
from tests.backup.worlds import Cluster, Keys, log_domains, memory_store, put_all, some_keys


async def report_of(keys: Keys, folder: Path) -> VerifyReport:
    async with memory_store() as meta:
        cluster = Cluster(meta)
        await cluster.claim()
        await put_all(meta, keys)
        await cluster.save(folder / "backup")
        return await verify(FileSource(folder / "backup"))


_FIELDS: list[object] = [{}] * 20


def refusal(family: KeyFamily, value: object) -> str:
    """Return why a value is refused; empty if it is not."""
    try:
        require_decodable(family, msgspec.msgpack.encode(value))
    except msgspec.DecodeError as error:
        return str(error)
    return ""


def test_every_family_has_a_decoder_of_each_of_its_structs() -> None:
    for family in KEY_FAMILIES:
        if family.path == "cluster":
            continue  # JSON
        for kind in value_kinds(family):
            value = [kind.__struct_config__.tag, *_FIELDS]
            assert "Invalid value" not in refusal(family, [value] if family.raw else value), (family, kind)
        if family.values:
            assert "Invalid value" in refusal(
                family, [["no!", *_FIELDS]] if family.raw else ["no!", *_FIELDS]
            ), family


async def test_valid_backup_is_counted_by_family(tmp_path: Path) -> None:
    difference = msgspec.msgpack.encode([Difference(0, 1, 2, 2, "no")])
    keys = some_keys() | {(CLUSTER_DOMAIN, differences_key(b"i" * 16)): difference}
    report = await report_of(keys, tmp_path)
    assert report.problems == []
    assert report.families == {
        "topics/<topic>": 2,
        "broker-ids/<broker id>": 1,
        "producer-ids": 1,
        "streams/<stream>/head": 4,
        "group-offsets/<group>/<topic>/<partition>": 12,
        "compaction/differences/<topic id>": 1,
    }
    assert report.family_bytes["compaction/differences/<topic id>"] == len(difference)


async def test_wrong_keys_and_values_are_named(tmp_path: Path) -> None:
    report = await report_of(
        {
            (CLUSTER_DOMAIN, topic_key("broken")): b"\xc1",
            (CLUSTER_DOMAIN, PRODUCER_IDS_KEY): msgspec.msgpack.encode(["n2", 4]),
            (CLUSTER_DOMAIN, "/dray/v1/newer/thing"): b"",
            (log_domains()[0], lease_key(b"t" * 16)): b"name",
        },
        tmp_path,
    )
    assert report.problem_count == len(report.problems) == 4
    texts = "\n".join(sorted(report.problems))
    assert f"{topic_key('broken')}: its value is not one of Topic: " in texts
    assert f"{PRODUCER_IDS_KEY}: its value is not one of NextProducerId: Invalid value 'n2'" in texts
    assert "/dray/v1/newer/thing: this Dray knows no such key" in texts
    assert "it is in domain log-0, it belongs to cluster" in texts


async def test_only_the_first_problems_are_described(tmp_path: Path) -> None:
    keys = {(Domain("cluster"), f"/dray/v1/unknown/{number}"): b"" for number in range(150)}
    report = await report_of(keys, tmp_path)
    assert (report.problem_count, len(report.problems)) == (150, 100)
