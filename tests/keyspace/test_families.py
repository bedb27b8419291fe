"""Key families: every key function builds keys of its declared family and of no other."""

from uuid import UUID

import pytest

from dray import keyspace
from dray.ids import Domain, FileId, LoadId, MetaDomain, StreamId, WalId
from dray.keyspace import KEY_FAMILIES, Scope
from dray.keyspace.matching import family_of, lives_in, matches
from scripts.metadata_page import value_kinds

_ID = bytes(range(16))
_DOMAIN, _STREAM = MetaDomain(3), StreamId(7)
KEYS = {
    "cluster": keyspace.CLUSTER_KEY,
    "restore/cluster": keyspace.restore_key(keyspace.CLUSTER_DOMAIN),
    "brokers/<broker id>": keyspace.broker_key(4),
    "broker-ids/<broker id>": keyspace.broker_id_key(4),
    "topics/<topic>": keyspace.topic_key("a.topic-1"),
    "deleted-topics/<topic id>": keyspace.deleted_topic_key(UUID(bytes=_ID)),
    "new-streams/<id>": keyspace.new_streams_key(UUID(bytes=_ID)),
    "group-configs/<group>": keyspace.group_configs_key("a/group"),
    "client-quotas/<entity>": keyspace.client_quotas_key([("client-id", "a/b&c=d"), ("user", None)]),
    "acls/<pattern>": keyspace.acl_key("transactional_id", "prefixed", "a-b/c"),
    "users/<name>": keyspace.user_key("a/user"),
    "scram-secret": keyspace.SCRAM_SECRET_KEY,
    "producer-ids": keyspace.PRODUCER_IDS_KEY,
    "compaction/leases/<topic id>": keyspace.lease_key(_ID),
    "compaction/failures/<topic id>": keyspace.failure_key(_ID),
    "compaction/differences/<topic id>": keyspace.differences_key(_ID),
    "compaction/rebuilds/<topic id>": keyspace.rebuild_key(_ID),
    "compaction/dropped-tables/<table>": keyspace.dropped_table_key(_ID.hex(), "warehouse/dray/t-1"),
    "streams/<stream>/head": keyspace.head_key(_STREAM),
    "streams/<stream>/offset-index/<end>/<size>": keyspace.entry_key(_STREAM, 10, 100),
    "streams/<stream>/producers": keyspace.producers_key(_STREAM),
    "streams/<stream>/key-compacted": keyspace.key_compacted_key(_STREAM),
    "streams/<stream>/contended": keyspace.contended_key(_STREAM),
    "wal/staging/<domain>/<wal>": keyspace.staging_key(_DOMAIN, WalId(_ID)),
    "wal/objects/<domain>/<wal>": keyspace.wal_object_key(_DOMAIN, WalId(_ID)),
    "wal/gc/<domain>/<wal>": keyspace.wal_gc_key(_DOMAIN, WalId(_ID)),
    "wal/loads/<domain>/<load>": keyspace.load_key(_DOMAIN, LoadId(_ID)),
    "parquet/files/<domain>/<file>": keyspace.file_key(_DOMAIN, FileId(_ID)),
    "parquet/gc/<domain>/<file>": keyspace.file_gc_key(_DOMAIN, FileId(_ID)),
    "parquet/missing/<domain>/<file>": keyspace.missing_file_key(_DOMAIN, FileId(_ID)),
    "parquet/reference-checks/<domain>": keyspace.reference_check_key(_DOMAIN),
    "compaction/jobs/<stream>": keyspace.job_key(_STREAM),
    "restore/log-<domain>": keyspace.restore_key(keyspace.log_domain(_DOMAIN)),
    "groups/<group>": keyspace.group_key(""),
    "group-offsets/<group>/<topic>/<partition>": keyspace.offset_key("a/group", "t", 1),
    "restore/groups-<number>": keyspace.restore_key(keyspace.group_domain("g", 16)),
}


def test_every_family_has_a_key() -> None:
    assert [family.path for family in KEY_FAMILIES] == list(KEYS)


@pytest.mark.parametrize("path", KEYS)
def test_key_matches_its_own_family_only(path: str) -> None:
    assert [family.path for family in KEY_FAMILIES if matches(family, KEYS[path])] == [path]


@pytest.mark.parametrize("family", KEY_FAMILIES, ids=lambda family: family.path)
def test_values_of_a_family_are_structs_of_this_tree(family: keyspace.KeyFamily) -> None:
    assert bool(value_kinds(family)) or family.raw


def test_pattern_of_acls_can_be_read_from_its_key() -> None:
    for parts in (("transactional_id", "prefixed", "a-b/~é %"), ("topic", "literal", "*")):
        assert keyspace.acl_key_parts(keyspace.acl_key(*parts)) == parts


def test_keys_of_other_patterns_have_no_family() -> None:
    for key in ("/dray/v1/streams/7", "/dray/v2/cluster", "/dray/v1/topics/a/b", "/dray/v1/clusters", ""):
        assert family_of(key) is None


def test_scope_matches_the_names_of_its_domains() -> None:
    domains = {
        Scope.CLUSTER: keyspace.CLUSTER_DOMAIN,
        Scope.LOG: keyspace.log_domain(MetaDomain(12)),
        Scope.GROUPS: keyspace.group_domain("g", 16),
    }
    for family in KEY_FAMILIES:
        assert [scope for scope, domain in domains.items() if lives_in(family, domain)] == [family.scope]
    assert not lives_in(KEY_FAMILIES[0], Domain("clusters"))
